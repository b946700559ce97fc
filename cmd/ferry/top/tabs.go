package top

import (
	"strings"

	"example.com/ferry/node/admin"
)

// tab is one table of the view.
type tab struct {
	name    string
	columns []column
	sortBy  int // column, at first
	present func(*Sample) bool
	rows    func(*window) []row
	summary func(*window) string
	empty   string // shown without rows
}

// allTabs returns the tabs, in their order.
func allTabs() []tab {
	return []tab{streamsTab(), tagsTab(), functionsTab(), routesTab(), endpointsTab()}
}

func streamsTab() tab {
	return tab{
		name: "Streams",
		columns: []column{
			{title: "STREAM", left: true},
			{title: "RATE"},
			{title: "MESSAGES", rank: 2},
			{title: "SIZE", rank: 3},
			{title: "LAG"},
			{title: "REDELIVERED", rank: 4},
			{title: "DEAD", rank: 1},
			{title: "STATE", left: true},
		},
		present: func(s *Sample) bool { return s.Streams != nil },
		rows:    streamRows,
		summary: func(w *window) string {
			e := w.now().Streams.Engine
			return "engine " + text(e.Address, plain).text + ", sync " + e.Sync + "; RATE is stored, below it delivered"
		},
		empty: "No streams: list them under streams in the configuration.",
	}
}

func streamRows(w *window) []row {
	type stream = struct{ appended uint64 }
	before := map[string]stream{}
	delivered := map[string]uint64{}
	for _, s := range streamsOf(w.before()) {
		before[s.Name] = stream{s.Appended}
		for _, d := range s.Durables {
			delivered[s.Name+"/"+d.Name] = d.Delivered
		}
	}
	var rows []row
	for _, s := range streamsOf(w.now()) {
		var lag, redelivered, dead uint64
		r := row{}
		for _, d := range s.Durables {
			lag, redelivered, dead = max(lag, d.Lag), redelivered+d.Redelivered, dead+d.DeadLetters
			state, how := "no members", dim
			switch {
			case d.Error != "":
				state, how = d.Error, bad
			case len(d.Members) > 0 && !d.Here:
				state, how = "waits for "+d.Holder, warn
			case len(d.Members) > 0:
				state, how = plural(len(d.Members), "member")+", "+whole(float64(d.Held))+" held", good
			case d.Holder != "":
				state, how = "served by "+d.Holder, good
			}
			r.children = append(r.children, row{cells: []cell{
				text(d.Name, plain), number(w.rate(d.Delivered, delivered[s.Name+"/"+d.Name]), perSecond, plain), text("", plain), text("", plain),
				number(known(d.Lag), short, warn), number(known(d.Redelivered), short, warn), number(known(d.DeadLetters), short, bad), text(state, how),
			}})
		}
		state, how := "storing", good
		switch {
		case s.Error != "":
			state, how = "not storing: "+s.Error, bad
		case s.Dropped > 0:
			state, how = short(float64(s.Dropped))+" dropped", warn
		case s.Pending > 0:
			state = size(float64(s.Pending)) + " pending"
		}
		for _, c := range s.Replicas {
			if !c.Current && s.Error == "" {
				state, how = "copy on "+c.Name+" is behind", warn
			}
		}
		r.cells = []cell{
			text(s.Name, bold), number(w.rate(s.Appended, before[s.Name].appended), perSecond, plain), number(known(s.Records), short, plain),
			number(known(s.Bytes), size, plain), number(known(lag), short, warn), number(known(redelivered), short, warn), number(known(dead), short, bad), text(state, how),
		}
		rows = append(rows, r)
	}
	return rows
}

func tagsTab() tab {
	return tab{
		name: "Tags",
		columns: []column{
			{title: "TAG", left: true},
			{title: "IN"},
			{title: "OUT"},
			{title: "BYTES IN", rank: 1},
			{title: "BYTES OUT", rank: 2},
			{title: "TOTAL IN", rank: 3},
			{title: "TOTAL OUT", rank: 4},
		},
		sortBy:  1,
		present: func(s *Sample) bool { return s.Tags != nil },
		rows: func(w *window) []row {
			old := index(tagsOf(w.before()), func(t *Tag) string { return t.Name })
			var rows []row
			for _, t := range w.now().Tags {
				was := old[t.Name]
				if was == nil {
					was = &Tag{}
				}
				rows = append(rows, row{cells: []cell{
					text(t.Name, bold), number(w.rate(t.In.Messages, was.In.Messages), perSecond, plain), number(w.rate(t.Out.Messages, was.Out.Messages), perSecond, plain),
					number(w.rate(t.In.Bytes, was.In.Bytes), sizePerSecond, plain), number(w.rate(t.Out.Bytes, was.Out.Bytes), sizePerSecond, plain),
					number(known(t.In.Messages), short, plain), number(known(t.Out.Messages), short, plain),
				}})
			}
			return rows
		},
		summary: func(w *window) string {
			var in, out, oldIn, oldOut uint64
			for _, t := range w.now().Tags {
				in, out = in+t.In.Messages, out+t.Out.Messages
			}
			for _, t := range tagsOf(w.before()) {
				oldIn, oldOut = oldIn+t.In.Messages, oldOut+t.Out.Messages
			}
			return plural(len(w.now().Tags), "tag") + ", in " + number(w.rate(in, oldIn), perSecond, plain).text + ", out " + number(w.rate(out, oldOut), perSecond, plain).text
		},
		empty: "No messages yet.",
	}
}

func tagsOf(s *Sample) []Tag {
	if s == nil {
		return nil
	}
	return s.Tags
}

func functionsTab() tab {
	return tab{
		name: "Functions",
		columns: []column{
			{title: "FUNCTION", left: true},
			{title: "STATE", left: true},
			{title: "HANDLED"},
			{title: "FAILED", rank: 1},
			{title: "QUEUE"},
			{title: "ACTIVE", rank: 2},
			{title: "P50", rank: 6},
			{title: "P99", rank: 1},
			{title: "RESTARTS", rank: 4},
			{title: "CPU", left: true, rank: 7},
			{title: "PROCESSES", rank: 8},
			{title: "OBSERVES", left: true, rank: 5},
			{title: "LAST ERROR", left: true, rank: 3},
		},
		present: func(s *Sample) bool { return s.Functions != nil },
		rows:    functionRows,
		summary: func(w *window) string {
			return plural(len(w.now().Functions), "function") + ", latencies of the last 5 s"
		},
		empty: "No functions: list them under functions in the configuration.",
	}
}

func functionRows(w *window) []row {
	var before []admin.Function
	if w.before() != nil {
		before = w.before().Functions
	}
	old := index(before, func(f *admin.Function) string { return f.Name })
	var rows []row
	for _, f := range w.now().Functions {
		was := old[f.Name]
		if was == nil {
			was = &admin.Function{}
		}
		state, how := "stopped", dim
		switch {
		case f.Running:
			state, how = "running", good
		case f.Error != "":
			state, how = "failed: "+f.Error, bad
		}
		processes := text("", plain)
		if p := f.Processes; p != nil {
			processes = text(whole(float64(p.Ready))+" of "+whole(float64(p.Wanted)), plain)
			if p.Ready < p.Wanted {
				processes.style = warn
			}
		}
		rows = append(rows, row{cells: []cell{
			text(f.Name, bold), text(state, how), number(w.rate(f.Handled, was.Handled), perSecond, plain),
			number(w.rate(f.Failed, was.Failed), perSecond, bad), number(known(f.Queued), short, warn), number(known(f.Active), short, plain),
			number(quantile(w, was.Took, f.Took, 0.5), latency, plain), number(quantile(w, was.Took, f.Took, 0.99), latency, plain),
			number(known(f.Restarts), short, warn), text(f.CPU, plain), processes, text(strings.Join(f.Observe, ", "), dim), text(f.LastError, plain),
		}})
	}
	return rows
}
