package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Inventory is the first line that a question writes with -serve: what can be measured.
type Inventory struct {
	Question string   `json:"question"`
	Unit     string   `json:"unit"`
	Better   Better   `json:"better"`
	Rows     []string `json:"rows"` // of kind Ferry
	Cases    []string `json:"cases"`
}

// MeasureRequest is a line that a question reads with -serve: it asks for one measurement.
type MeasureRequest struct {
	Row  string `json:"row"`
	Case string `json:"case"`
}

// MeasureResponse is the line that a question writes for a MeasureRequest. Without figures and error, the row does not
// take part in the case.
type MeasureResponse struct {
	Figures Figures `json:"figures,omitempty"`
	Err     string  `json:"err,omitempty"`
}

// Serve prepares q and measures ferry's rows as the requests on r ask for, in JSON lines on w, until r ends. Another
// program decides about the order, such as bench/cmd/compare, which alternates between two versions of a question. The
// checks of q are not run.
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

// prepare runs q.Prepare in a temporary directory, which remove removes.
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
		if c.Kind == Ferry && c.Measure != nil {
			all.Rows = append(all.Rows, c.Name)
		}
	}
	return all
}

func (q *Question) respond(request MeasureRequest, budget time.Duration) MeasureResponse {
	for _, c := range q.Contenders {
		if c.Name != request.Row || c.Measure == nil {
			continue
		}
		f, err := c.Measure(request.Case, budget)
		if err != nil {
			return MeasureResponse{Err: err.Error()}
		}
		return MeasureResponse{Figures: f}
	}
	return MeasureResponse{Err: fmt.Sprintf("harness: %s measures no row %q", q.Name, request.Row)}
}
