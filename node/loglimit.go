package node

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
)

// The bounds of warnings and errors in the node's log. A fault that lasts, or a client that fails again and again, would fill the disk.
const (
	logBurst  = 5           // records of one kind within a period that are written
	logPeriod = time.Minute // then one line says how many more there were
	logKinds  = 1024        // kinds that are counted apart; further ones are one kind
	logParts  = 256         // kinds of one message; further ones are one kind, so that a client that chooses a name does not fill the table
	logCauses = 8           // causes of one message and part, for the same reason
	logText   = 100         // bytes of a part or a cause that are compared
)

// logLimit bounds the warnings and errors of a log: of each kind, the first logBurst of a period are written, the others are counted,
// and the count is written at the period's end. The message, the part of the node and the cause make the kind: the first line of a new
// cause is written. At level debug everything is written.
type logLimit struct {
	mu    sync.Mutex
	kinds map[logKind]*logCount
	below map[logKind]int // how many kinds there are of a message, and of a message and a part
}

type logKind struct {
	level   slog.Level
	message string
	part    string // first attribute of the logger and of the record, such as the stream; not an address
	cause   string // attribute err, without digits: ports and addresses make no other cause
}

// ofMessage and ofPart are the keys of logLimit.below.
func (k logKind) ofMessage() logKind { return logKind{level: k.level, message: k.message} }
func (k logKind) ofPart() logKind    { return logKind{k.level, k.message, k.part, "*"} } // no cause is a key of below

// logCount counts the records of a kind in a period.
type logCount struct {
	written, left int
	write         func(left int) // the last record that was left out, as a summary
}

// limitedHandler passes on what the limit allows.
type limitedHandler struct {
	slog.Handler
	limit *logLimit
	part  string // of the attributes of the logger
}

// Handle is slog.Handler's.
func (h *limitedHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn || h.Enabled(ctx, slog.LevelDebug) {
		return h.Handler.Handle(ctx, r)
	}
	kind := logKind{level: r.Level, message: r.Message, part: h.part}
	first := true
	r.Attrs(func(a slog.Attr) bool {
		if first {
			kind.part, first = joined(h.part, a), false
		}
		if a.Key == "err" {
			kind.cause = cause(a.Value.String())
		}
		return kind.cause == ""
	})
	if !h.limit.take(kind, func(left int) {
		summary := r.Clone()
		summary.Time = time.Now()
		summary.Add("more", left, "within", logPeriod)
		_ = h.Handler.Handle(context.Background(), summary) // there is no other place for the error of the log
	}) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// joined returns the part of a logger, and that of a first attribute. Of addresses and errors one fault has many, and a group describes a
// client.
func joined(part string, a slog.Attr) string {
	if a.Key == "addr" || a.Key == "err" || a.Value.Kind() == slog.KindGroup {
		return part
	}
	return short(strings.TrimSpace(part + " " + a.Value.String()))
}

// cause returns the text of an error with # for each run of digits.
func cause(text string) string {
	digits := false
	return strings.Map(func(r rune) rune {
		was := digits
		if digits = unicode.IsDigit(r); !digits {
			return r
		}
		if was {
			return -1
		}
		return '#'
	}, short(text))
}

// short returns a copy of at most logText bytes of s: it keeps no longer text in memory.
func short(s string) string { return strings.Clone(s[:min(len(s), logText)]) }

// WithAttrs is slog.Handler's.
func (h *limitedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	part := h.part
	if len(attrs) > 0 {
		part = joined(part, attrs[0])
	}
	return &limitedHandler{h.Handler.WithAttrs(attrs), h.limit, part}
}

// WithGroup is slog.Handler's.
func (h *limitedHandler) WithGroup(name string) slog.Handler {
	return &limitedHandler{h.Handler.WithGroup(name), h.limit, h.part}
}

// take reports whether a record of this kind is written. Otherwise it is counted, and summary is called at the end of the period, unless
// a later record of the kind is left out, too.
func (l *logLimit) take(kind logKind, summary func(left int)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	kind = l.counted(kind)
	c := l.kinds[kind]
	if c == nil {
		c = &logCount{}
		l.add(kind, c)
		time.AfterFunc(logPeriod, func() { l.end(kind, c) })
	}
	if c.written < logBurst {
		c.written++
		return true
	}
	c.left++
	c.write = summary
	return false
}

// counted returns the kind as which a record is counted: if there is no room for its own, one without the cause, then one without the part,
// then one without the message.
func (l *logLimit) counted(kind logKind) logKind {
	if l.kinds[kind] == nil && l.below[kind.ofPart()] >= logCauses {
		kind.cause = ""
	}
	if l.kinds[kind] == nil && l.below[kind.ofMessage()] >= logParts {
		kind = kind.ofMessage()
	}
	if l.kinds[kind] == nil && len(l.kinds) >= logKinds {
		kind = logKind{level: kind.level}
	}
	return kind
}

func (l *logLimit) add(kind logKind, c *logCount) {
	if l.kinds == nil {
		l.kinds, l.below = map[logKind]*logCount{}, map[logKind]int{}
	}
	l.kinds[kind] = c
	l.below[kind.ofMessage()]++
	l.below[kind.ofPart()]++
}

func (l *logLimit) remove(kind logKind) {
	delete(l.kinds, kind)
	for _, key := range []logKind{kind.ofMessage(), kind.ofPart()} {
		if l.below[key]--; l.below[key] == 0 {
			delete(l.below, key)
		}
	}
}

// flush writes the counts of periods that have not ended, when the node ends.
func (l *logLimit) flush() {
	l.mu.Lock()
	var summaries []func()
	for _, c := range l.kinds {
		if left, write := c.left, c.write; left > 0 {
			summaries = append(summaries, func() { write(left) })
		}
		c.left, c.write = 0, nil
	}
	l.mu.Unlock()
	for _, write := range summaries {
		write()
	}
}

// end ends a period. While records are left out, the next one begins, in which they all are: the summaries tell of them.
func (l *logLimit) end(kind logKind, c *logCount) {
	l.mu.Lock()
	left, write := c.left, c.write
	c.left, c.write = 0, nil
	if left == 0 {
		l.remove(kind)
	} else {
		c.written = logBurst
		time.AfterFunc(logPeriod, func() { l.end(kind, c) })
	}
	l.mu.Unlock()
	if left > 0 {
		write(left)
	}
}
