package conformance

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Driver is a running driver program: the client under test, and what carries out instructions with it.
type Driver interface {
	io.Reader // reports: the program's standard output
	io.Writer // instructions: its standard input

	// CloseWrite ends the instructions. The program ends then.
	CloseWrite() error

	// Wait returns when the program has ended. An error says how.
	Wait() error

	// Log returns the end of what the program has printed about itself, after Wait.
	Log() string

	// Kill ends the program at once. Wait returns then.
	Kill()
}

// maxLine bounds a report, in bytes: a message of 1 MiB in hex, and the rest of the line.
const maxLine = 3 << 20

// maxEvents bounds the events that a driver may report in a case.
const maxEvents = 100_000

// exitTime is how long a driver may take to end after its last instruction.
const exitTime = 5 * time.Second

// driver passes instructions to a Driver and collects its reports.
type driver struct {
	run    *run
	prog   Driver
	lastID int

	// Guarded by run.mu.
	last      Instruction
	responses map[int]*Report
	events    []*Report // not yet taken
	ended     bool      // no further report follows
}

// startDriver reads the reports of prog. When the case has ended, prog must end, too.
func startDriver(r *run, prog Driver) *driver {
	d := &driver{run: r, prog: prog, responses: map[int]*Report{}}
	r.hint, r.log = d.refusals, prog.Log
	read := make(chan struct{})
	go func() {
		defer close(read)
		d.read()
	}()
	r.cleanup(func() {
		_ = prog.CloseWrite()
		timer := time.AfterFunc(exitTime, prog.Kill)
		<-read
		err := prog.Wait()
		inTime := timer.Stop()
		switch {
		case !inTime:
			r.fail("the driver ends after the end of its standard input", "it still ran after %v", exitTime)
		case err != nil && r.verdict == Fail:
			r.got += "; the driver ended with " + err.Error()
		case err != nil:
			r.fail("the driver ends with exit status 0", "%v", err)
		}
	})
	return d
}

// read collects reports until the driver ends.
func (d *driver) read() {
	lines := bufio.NewScanner(d.prog)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		p := new(Report)
		err := json.Unmarshal(lines.Bytes(), p)
		d.run.mu.Lock()
		switch {
		case err != nil:
			d.run.breakRule("a report: one line of JSON", "%s: %v", short(lines.Text()), err)
		case p.Event != "" && len(d.events) < maxEvents:
			d.events = append(d.events, p)
		case p.Event == "" && p.ID > 0 && p.ID <= d.lastID && d.responses[p.ID] == nil:
			d.responses[p.ID] = p
			if p.Unsupported && d.run.broken == nil {
				d.run.broken = &outcome{Skip, "", "the driver does not support " + d.last.String()}
			}
		default:
			d.run.breakRule("a response to an instruction, or an event", "%v", p)
		}
		d.run.wake()
		d.run.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, d.prog) // after a line that is too long
	d.run.mu.Lock()
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		d.run.breakRule(fmt.Sprintf("reports of at most %d bytes", maxLine), "a longer one")
	}
	d.ended = true
	d.run.wake()
	d.run.mu.Unlock()
}

// pending is an instruction without a response.
type pending struct {
	driver *driver
	Instruction
}

// tell passes an instruction to the driver.
func (d *driver) tell(in Instruction) *pending {
	d.run.mu.Lock()
	d.lastID++
	in.ID = d.lastID
	d.last = in
	d.run.mu.Unlock()
	line, err := json.Marshal(&in)
	if err == nil {
		_, err = d.prog.Write(append(line, '\n'))
	}
	if err != nil {
		d.run.fail("a driver that reads "+in.String(), "%v", err)
	}
	return &pending{d, in}
}

// response waits for the response. It skips the case if the driver has no such verb.
func (p *pending) response(want string) *Report {
	d := p.driver
	var got *Report
	d.run.await(want, func() (bool, string) {
		got = d.responses[p.ID]
		if got == nil && d.ended {
			return false, fmt.Sprintf("the driver ended without a response to %v", &p.Instruction)
		}
		return got != nil, ""
	}, func() string { return fmt.Sprintf("no response to %v", &p.Instruction) })
	return got
}

// refusals returns what instructions have failed.
func (d *driver) refusals() (text string) {
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	for _, p := range d.responses {
		if p.Error != "" {
			text += fmt.Sprintf("; the driver said %v", p)
		}
	}
	return text
}

// ok waits until the instruction is done.
func (p *pending) ok() {
	want := "the client does " + p.String()
	if got := p.response(want); got.Error != "" {
		p.driver.run.fail(want, "%v", got)
	}
}

// refused waits for an error. If the driver tells its code, that is code.
func (p *pending) refused(code int) {
	want := fmt.Sprintf("an error, of code %d if the library tells codes, from %v", code, &p.Instruction)
	got := p.response(want)
	if got.Error == "" || got.Code != nil && *got.Code != code {
		p.driver.run.fail(want, "%v", got)
	}
}

// failed waits for an error, whatever its code.
func (p *pending) failed() {
	want := "an error from " + p.String()
	if got := p.response(want); got.Error == "" {
		p.driver.run.fail(want, "%v", got)
	}
}

// open reports whether there is no response yet.
func (p *pending) open() bool {
	p.driver.run.mu.Lock()
	defer p.driver.run.mu.Unlock()
	return p.driver.responses[p.ID] == nil
}

// event waits for the next event of a kind and returns it. Events of other kinds stay for later calls.
func (d *driver) event(kind, want string) *Report {
	var got *Report
	d.run.await(want, func() (bool, string) {
		for i, e := range d.events {
			if e.Event == kind {
				got = e
				d.events = append(d.events[:i:i], d.events[i+1:]...)
				return true, ""
			}
		}
		if d.ended {
			return false, "the driver ended"
		}
		return false, ""
	}, func() string { return fmt.Sprintf("no event %q; not taken yet: %v", kind, d.events) })
	return got
}

// quiet fails the case if there is an event of a kind that was not taken.
func (d *driver) quiet(kind, want string) {
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	for _, e := range d.events {
		if e.Event == kind {
			d.run.breakRule(want, "%v", e)
		}
	}
}
