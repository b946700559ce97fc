package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"
)

// Config configures Run.
type Config struct {
	Get      Get           // requests the admin server
	Address  string        // of the admin server, to show
	Interval time.Duration // between two samples; 0 means 1 s
	Input    io.Reader     // keys
	Output   io.Writer     // the view
	Environ  []string      // TERM, NO_COLOR and so on; nil means that of the process
}

// ErrNoTerminal means that Input or Output is not a terminal.
var ErrNoTerminal = errors.New("standard input and output are no terminal")

// Run shows the view until the user quits or ctx ends. It takes a first sample before it draws, and returns the error if that
// fails. Later failures are shown, and Run keeps trying. Output must be a terminal.
func Run(ctx context.Context, cfg Config) error {
	if !isTerminal(cfg.Input) || !isTerminal(cfg.Output) {
		return ErrNoTerminal
	}
	if cfg.Interval == 0 {
		cfg.Interval = time.Second
	}
	first, err := takeFirst(ctx, cfg.Get)
	if err != nil {
		return err
	}
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(cfg.Input), tea.WithOutput(cfg.Output)}
	if cfg.Environ != nil {
		options = append(options, tea.WithEnvironment(cfg.Environ))
	}
	_, err = tea.NewProgram(newModel(ctx, cfg, first), options...).Run()
	if ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot draw: %w", err)
	}
	return nil
}

func takeFirst(ctx context.Context, get Get) (*Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return Take(ctx, get)
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}
