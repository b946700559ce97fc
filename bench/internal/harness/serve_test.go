package harness

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestServe(t *testing.T) {
	q := example()
	prepared := ""
	q.Prepare = func(dir string) error {
		prepared = dir
		return nil
	}
	var out bytes.Buffer
	requests := `{"row":"ferry","case":"one"} {"row":"ferry","case":"one"} {"row":"seed","case":"one"}`
	if err := Serve(q, time.Microsecond, strings.NewReader(requests), &out); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(&out)
	var all Inventory
	if err := lines.Decode(&all); err != nil {
		t.Fatal(err)
	}
	if want := (Inventory{"ask", NsPerOp, Lower, []string{"ferry"}, []string{"one"}}); !reflect.DeepEqual(all, want) {
		t.Errorf("the inventory: got %+v, want %+v", all, want)
	}
	for i, want := range []MeasureResponse{
		{Figures: Figures{NsPerOp: 10, AllocsPerOp: 0}},
		{Figures: Figures{NsPerOp: 30, AllocsPerOp: 0}},
		{Err: `harness: ask measures no row "seed"`},
	} {
		var got MeasureResponse
		if err := lines.Decode(&got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("response %d: got %+v, %v, want %+v", i, got, err, want)
		}
	}
	if _, err := os.Stat(prepared); prepared == "" || err == nil {
		t.Errorf("%q is there after Serve has returned", prepared)
	}
}

func TestServeFails(t *testing.T) {
	for _, row := range []struct {
		name, requests, want string
		change               func(*Question)
	}{
		{"no JSON", "measure it", "not a request", func(*Question) {}},
		{"no preparation", "", "no compiler", func(q *Question) {
			q.Prepare = func(string) error { return os.NewSyscallError("no compiler", os.ErrNotExist) }
		}},
		{"no question", "", "needs a name", func(q *Question) { q.Name = "" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := example()
			row.change(&q)
			err := Serve(q, time.Microsecond, strings.NewReader(row.requests), new(bytes.Buffer))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
