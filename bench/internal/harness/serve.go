package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Inventory lists the rows and cases that can be measured. It is the first line that a benchmark writes with -serve.
type Inventory struct {
	Question string   `json:"question"`
	Unit     string   `json:"unit"`
	Better   Better   `json:"better"`
	Rows     []string `json:"rows"` // names of the rows of kind Ferry
	Cases    []string `json:"cases"`
}

// MeasureRequest is a line that a benchmark reads with -serve. It requests one measurement.
type MeasureRequest struct {
	Row  string `json:"row"`
	Case string `json:"case"`
}

// MeasureResponse is the line that a benchmark writes for a MeasureRequest. If it has neither figures nor an error, the row
// does not take part in the case.
type MeasureResponse struct {
	Figures Figures `json:"figures,omitempty"`
	Err     string  `json:"err,omitempty"`
}

// Serve prepares q, and measures ferry's rows on request until r ends. It reads a MeasureRequest per line from r, and writes
// a MeasureResponse per line to w. So another program chooses the order of the measurements: bench/cmd/compare alternates
// between two versions of a benchmark. Serve does not run the checks of q.
func Serve(q Question, budget time.Duration, r io.Reader, w io.Writer) error {
	if err := q.validate(); err != nil {
		return err
	}
	remove, err := q.prepare()
	if err != nil {
		return err
	}
	defer remove()
	out := json.NewEncoder(w)
	if err := out.Encode(q.inventory()); err != nil {
		return err
	}
	for in := json.NewDecoder(r); ; {
		var request MeasureRequest
		if err := in.Decode(&request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("harness: %s: not a request: %w", q.Name, err)
		}
		if err := out.Encode(q.respond(request, budget)); err != nil {
			return err
		}
	}
}

// prepare runs q.Prepare in a new temporary directory. The returned function removes the directory.
func (q *Question) prepare() (remove func(), err error) {
	if q.Prepare == nil {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "ferry-bench-")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q.Name, err)
	}
	remove = func() { _ = os.RemoveAll(dir) }
	if err := q.Prepare(dir); err != nil {
		remove()
		return nil, fmt.Errorf("%s: %w", q.Name, err)
	}
	return remove, nil
}

func (q *Question) inventory() Inventory {
	all := Inventory{Question: q.Name, Unit: q.Unit, Better: q.Better, Cases: q.Cases}
	for _, c := range q.Contenders {
		if c.Kind == Ferry && c.Recorded == nil {
			all.Rows = append(all.Rows, c.Name)
		}
	}
	return all
}

func (q *Question) respond(request MeasureRequest, budget time.Duration) MeasureResponse {
	for _, c := range q.Contenders {
		if c.Name != request.Row || c.Recorded != nil {
			continue
		}
		f, err := c.measureOnce(request.Case, budget)
		if err != nil {
			return MeasureResponse{Err: err.Error()}
		}
		return MeasureResponse{Figures: f}
	}
	return MeasureResponse{Err: fmt.Sprintf("harness: %s measures no row %q", q.Name, request.Row)}
}
