package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"

	"example.com/ferry/engine/file"
	"example.com/ferry/engine/log"
	"example.com/ferry/node"
)

type streamVerifyCmd struct {
	Output  string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json."`
	DataDir string `arg:"" optional:"" default:"./ferry-data" placeholder:"DIR" help:"The data directory of the node, which does not run. The default is ./ferry-data."`
}

// Help returns the part of ferry stream verify --help that is not in the grammar.
func (*streamVerifyCmd) Help() string {
	return `Every record of every stream is read and its sums are compared. Nothing is repaired, and no file of a stream is opened for writing. With damage, the exit status is 1.

A node that starts leaves damaged messages out and counts them. To have them again, restore a backup.

Example:

    ferry stream verify ./ferry-data`
}

// verifiedStream is a stream in the JSON that the command prints.
type verifiedStream struct {
	Name     string      `json:"name"`
	First    uint64      `json:"first"`
	Last     uint64      `json:"last"`
	Records  uint64      `json:"records"`
	Durables int         `json:"durables"`
	Damaged  [][2]uint64 `json:"damaged"` // ranges of sequence numbers
	Error    string      `json:"error,omitempty"`
}

// Run verifies the streams.
func (c *streamVerifyCmd) Run(e *env) error {
	ctx, stop := interruptible()
	defer stop()
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tFIRST\tLAST\tRECORDS\tDURABLES\tDAMAGED")
	all := []verifiedStream{}
	var damage error
	err := node.VerifyStreams(ctx, c.DataDir, func(v file.Verified) error {
		row := verifiedStream{Name: v.Name, First: v.First, Last: v.Last, Records: v.Records, Durables: v.Durables, Damaged: [][2]uint64{}}
		for _, r := range v.Damaged {
			row.Damaged = append(row.Damaged, [2]uint64{r.First, r.Last})
		}
		if v.Err != nil {
			row.Error = v.Err.Error()
			damage = errors.Join(damage, fmt.Errorf("%s: %w", v.Name, v.Err))
		} else if !v.Intact() {
			damage = errors.Join(damage, fmt.Errorf("%s: records are damaged: restore a backup to have them again", v.Name))
		}
		all = append(all, row)
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\n", v.Name, v.First, v.Last, v.Records, v.Durables, ranges(v.Damaged))
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s has no streams in files: name the data directory of a node with engine embedded", c.DataDir)
	case err != nil:
		return err
	case c.Output == "json":
		err = printJSON(e, map[string]any{"streams": all})
	default:
		if err = w.Flush(); err == nil {
			err = e.print(text.Bytes())
		}
	}
	return errors.Join(err, damage)
}

// ranges prints numbers: 3, 7-9.
func ranges(list []log.Range) string {
	if len(list) == 0 {
		return "none"
	}
	var text []string
	for _, r := range list {
		if r.First == r.Last {
			text = append(text, fmt.Sprint(r.First))
		} else {
			text = append(text, fmt.Sprintf("%d-%d", r.First, r.Last))
		}
	}
	return strings.Join(text, ", ")
}
