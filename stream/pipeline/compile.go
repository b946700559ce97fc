package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/internal/invalid"
	"example.com/ferry/internal/topic"
	"example.com/ferry/stream/internal/window"
)

// MaxSteps bounds the steps of a pipeline.
const MaxSteps = 32

// Check returns everything that is wrong in the steps of a function that observes these filters. The error is an invalid.Errors, whose
// fields begin with "pipeline". stateful reports whether a step keeps state.
func Check(steps []Step, observe []string) (stateful bool, err error) {
	p, err := compile(&Config{Steps: steps, Observe: observe})
	return err == nil && p.slots > 0, err
}

// Outputs returns a filter that matches all tags that valid steps publish on.
func Outputs(steps []Step) string {
	levels := strings.Split(steps[len(steps)-1].Publish, "/")
	for i, text := range levels {
		if isField(text) {
			levels[i] = "+"
		}
	}
	return strings.Join(levels, "/")
}

// isField reports whether a level of publish is the value of a field.
func isField(level string) bool {
	return strings.HasPrefix(level, "{") && strings.HasSuffix(level, "}")
}

// compiler makes stages of steps.
type compiler struct {
	*Pipeline
	errs     invalid.Errors
	at       string      // field of the step
	tail     *link       // of the stage that was made last, whose next is missing
	group    *groupStage // nil until a step needs groups
	window   *Window     // of the step before, if it was a window
	windowAt string
}

func compile(cfg *Config) (*Pipeline, error) {
	p := &Pipeline{cfg: *cfg}
	c := &compiler{Pipeline: p}
	if len(cfg.Steps) == 0 || len(cfg.Steps) > MaxSteps {
		c.errs.Add("pipeline", "pipeline", "%d steps: want 1 to %d, the last one publish", len(cfg.Steps), MaxSteps)
		return nil, c.errs
	}
	for i := range cfg.Steps {
		c.at = fmt.Sprintf("pipeline[%d]", i)
		c.step(&cfg.Steps[i], i == len(cfg.Steps)-1)
	}
	if c.window != nil {
		c.wrong(c.windowAt, "no aggregate follows the window: write count, sum, mean, min, max, first, last, distinct_count or aggregate as the next step")
	}
	if c.group != nil && c.slots == 0 && len(c.errs) == 0 {
		c.wrong(c.groupAt(), "no step after it keeps state for each group: leave it out, or write a window, scan, distinct, changed, debounce, throttle or sample")
	}
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	text, err := json.Marshal(cfg.Steps)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	p.mark = hash(text)
	return p, nil
}

func (c *compiler) wrong(field, reason string, args ...any) {
	c.errs.Add("pipeline", field, reason, args...)
}

// groupAt returns the field of the group_by step.
func (c *compiler) groupAt() string {
	i := slices.IndexFunc(c.cfg.Steps, func(s Step) bool { return s.GroupBy != nil })
	return fmt.Sprintf("pipeline[%d].group_by", i)
}

// step compiles one step.
func (c *compiler) step(s *Step, isLast bool) {
	kinds := s.kinds()
	switch {
	case len(kinds) == 0:
		c.wrong(c.at, "does nothing: write one of %s", strings.Join(stepNames(), ", "))
		return
	case len(kinds) > 1:
		c.wrong(c.at+"."+kinds[1], "beside %s: write each as a step of its own", kinds[0])
		return
	}
	kind := kinds[0]
	for _, d := range []time.Duration{s.Debounce, s.Throttle, s.Sample} {
		c.checkDuration(c.at+"."+kind, d)
	}
	isAggregate := kind == "aggregate" || slices.Contains(aggregateNames[:], kind)
	switch {
	case s.As != "" && !slices.Contains(aggregateNames[:], kind):
		c.wrong(c.at+".as", "means nothing for %s: it names the result of one aggregate", kind)
	case s.Type != "" && kind != "publish":
		c.wrong(c.at+".type", "means nothing for %s: it is for publish", kind)
	case isLast != (kind == "publish") && isLast:
		c.wrong(c.at, "the last step is %s: end with publish, the tag of the results", kind)
	case isLast != (kind == "publish"):
		c.wrong(c.at+".publish", "steps follow it: it is the last one")
	case c.window != nil && !isAggregate:
		c.wrong(c.at+"."+kind, "follows a window: write an aggregate such as count or mean between them")
	case c.window == nil && isAggregate:
		c.wrong(c.at+"."+kind, "no window is before it: write window: {time: 10s}, or scan: [{%s: ...}] for a result of all messages so far", kind)
	}
	switch {
	case isAggregate && kind != "aggregate":
		c.aggregate([]Aggregation{s.Aggregation}, c.at, s)
	case isAggregate:
		c.aggregate(s.Aggregates, "", s)
	default:
		c.other(kind, s)
	}
}

func (c *compiler) other(kind string, s *Step) {
	at := c.at + "." + kind
	switch kind {
	case "where":
		p, err := field.ParsePredicate(s.Where)
		if err != nil {
			c.wrong(at, "%s", strings.TrimPrefix(err.Error(), "field: "))
			return
		}
		stage := &whereStage{predicate: p}
		c.add(stage, &stage.link, s)
	case "select":
		c.selects(s, at)
	case "flat_map":
		o, err := parseOperand(s.FlatMap)
		switch {
		case err != nil:
			c.wrong(at, "%s", strings.TrimPrefix(err.Error(), "field: "))
		case o.tag || o.as != field.AnyType:
			c.wrong(at, "%s is no list: name the field of one, such as readings", s.FlatMap)
		}
		stage := &flatMapStage{list: o}
		c.add(stage, &stage.link, s)
	case "group_by":
		c.groupBy(*s.GroupBy, at, s)
	case "window":
		c.checkWindow(s.Window, at)
		c.window, c.windowAt = s.Window, at
	case "scan":
		stage := &scanStage{aggregates: c.aggregates(s.Scan, func(i int) string { return fmt.Sprintf("%s[%d]", at, i) }, c.groupNames(), nil)}
		c.addStateful(stage, &stage.link, s)
	case "distinct":
		stage := &distinctStage{reader: c.reader(s.Distinct, c.listField(at, s.Distinct)), remembered: maxDistinct}
		c.addStateful(stage, &stage.link, s)
	case "changed":
		stage := &distinctStage{reader: c.reader(s.Changed, c.listField(at, s.Changed)), remembered: 1}
		c.addStateful(stage, &stage.link, s)
	case "debounce", "sample":
		stage := &holdStage{period: s.Debounce + s.Sample, restart: s.Debounce > 0}
		c.addTimed(stage, &stage.link, s)
	case "throttle":
		stage := &throttleStage{period: s.Throttle}
		c.addStateful(stage, &stage.link, s)
	case "publish":
		c.publish(s, at)
	}
}

// selects compiles select. A value that begins with = is an expression.
func (c *compiler) selects(s *Step, at string) {
	stage, wrong := &selectStage{}, len(c.errs)
	var p expressionParser
	for _, name := range slices.Sorted(maps.Keys(s.Select)) {
		parse := p.field
		text, computed := strings.CutPrefix(s.Select[name], "=")
		if computed {
			parse = p.parse
		}
		x, err := parse(text)
		if err != nil {
			c.wrong(at+"."+name, "%s", strings.TrimPrefix(err.Error(), "field: "))
		}
		stage.names, stage.compute = append(stage.names, quotedName(name)), append(stage.compute, x)
	}
	if len(c.errs) == wrong {
		var err error
		if stage.reader, err = newReader(p.operands); err != nil {
			c.wrong(c.at, "%v", err)
		}
	}
	c.add(stage, &stage.link, s)
}

// listField returns the field of an element of Paths, which may be one text.
func (c *compiler) listField(at string, list Paths) func(i int) string {
	return func(i int) string {
		if len(list) == 1 {
			return at
		}
		return fmt.Sprintf("%s[%d]", at, i)
	}
}

// reader compiles operands.
func (c *compiler) reader(texts []string, at func(i int) string) *reader {
	operands := make([]operand, len(texts))
	ok := true
	for i, text := range texts {
		var err error
		if operands[i], err = parseOperand(text); err != nil {
			c.wrong(at(i), "%s", strings.TrimPrefix(err.Error(), "field: "))
			ok = false
		}
	}
	if !ok {
		return nil
	}
	r, err := newReader(operands)
	if err != nil {
		c.wrong(c.at, "%v", err)
	}
	return r
}

// groupBy compiles the fields of group_by. nil means that each tag is a group.
func (c *compiler) groupBy(paths Paths, at string, s *Step) {
	switch {
	case c.group != nil && c.slots > 0:
		c.wrong(at, "follows a step that keeps state: write it before the first one")
		return
	case c.group != nil:
		c.wrong(at, "a pipeline groups once: write one list of all fields")
		return
	}
	stage := &groupStage{reader: c.reader(paths, c.listField(at, paths))}
	if stage.reader != nil {
		for i, o := range stage.reader.operands {
			name := o.name()
			if slices.ContainsFunc(stage.reader.operands[:i], func(other operand) bool { return other.name() == name }) {
				c.wrong(at, "two fields end with %s: the names of fields in a record differ", name)
			}
			stage.names = append(stage.names, quotedName(name))
		}
	}
	c.group = stage
	c.add(stage, &stage.link, s)
}

// groupNames returns the names of the fields that records have from group_by.
func (c *compiler) groupNames() (names []string) {
	if c.group == nil || c.group.reader == nil {
		return nil
	}
	for _, o := range c.group.reader.operands {
		names = append(names, o.name())
	}
	return names
}

// aggregate compiles the aggregates of the window before them. at is their field; "" means the elements of aggregate.
func (c *compiler) aggregate(list []Aggregation, at string, s *Step) {
	w := c.window
	if c.window = nil; w == nil {
		return // reported already
	}
	fieldAt := func(i int) string {
		if at != "" {
			return at
		}
		return fmt.Sprintf("%s.aggregate[%d]", c.at, i)
	}
	stage := &windowStage{
		kind:      window.Config{Time: w.Time, Every: w.Every, Count: w.Count, Session: w.Session},
		eventTime: -1, unit: w.Unit.nanoseconds(), lateness: int64(w.Lateness), ahead: int64(cmp.Or(w.Ahead, defaultAhead)), idle: int64(w.Idle),
	}
	var extra []operand
	if w.EventTime != "" {
		o, err := parseOperand(w.EventTime)
		if err != nil {
			c.wrong(c.windowAt+".event_time", "%s", strings.TrimPrefix(err.Error(), "field: "))
			return
		}
		extra = append(extra, o)
		if stage.idle == 0 {
			stage.idle = int64(w.Time + w.Session + w.Lateness)
		}
	}
	stage.aggregates = c.aggregates(list, fieldAt, append(c.groupNames(), "start", "end"), extra)
	if w.EventTime != "" && stage.aggregates != nil {
		stage.eventTime = len(stage.reader.operands) - 1
	}
	c.addTimed(stage, &stage.link, s)
	if stage.counts != nil {
		stage.text = w.String() + " | " + stage.text
	}
}

// aggregates compiles a list. taken are names that the record has already. extra are operands that the reader reads too.
func (c *compiler) aggregates(list []Aggregation, at func(i int) string, taken []string, extra []operand) *aggregates {
	if len(list) == 0 {
		c.wrong(c.at, "no aggregate: write one such as {count: true} or {mean: PATH}")
		return nil
	}
	a := &aggregates{numbers: make([]float64, len(list)), texts: make([][]byte, len(list))}
	var operands []operand
	wrong := len(c.errs)
	for i := range list {
		kinds := list[i].kinds()
		switch {
		case len(kinds) == 0:
			c.wrong(at(i), "no aggregate: write one of %s", strings.Join(aggregateNames[:], ", "))
			continue
		case len(kinds) > 1:
			c.wrong(at(i)+"."+kinds[1], "beside %s: write each as an element of aggregate: [{%s: ...}, {%s: ...}]", kinds[0], kinds[0], kinds[1])
			continue
		}
		kind := aggregateKind(slices.Index(aggregateNames[:], kinds[0]))
		name := list[i].As
		if name == "" {
			name = kinds[0]
		}
		if slices.Contains(taken, name) {
			c.wrong(at(i)+"."+kinds[0], "the record has a field %s already: name this one with as", name)
		}
		taken = append(taken, name)
		each := aggregate{kind: kind, name: quotedName(name), value: -1}
		if kind != count {
			o, err := parseOperand(list[i].path())
			if err != nil {
				c.wrong(at(i)+"."+kinds[0], "%s", strings.TrimPrefix(err.Error(), "field: "))
			}
			each.value = len(operands)
			operands = append(operands, o)
		}
		a.list = append(a.list, each)
	}
	if len(c.errs) > wrong {
		return nil
	}
	var err error
	if a.reader, err = newReader(append(operands, extra...)); err != nil {
		c.wrong(c.at, "%v", err)
		return nil
	}
	return a
}

// checkDuration refuses negative durations, and those that most likely have a wrong unit.
func (c *compiler) checkDuration(at string, d time.Duration) {
	if d < 0 {
		c.wrong(at, "%v is negative", d)
	}
	c.errs.AddDuration("pipeline", at, d)
}

func (c *compiler) checkWindow(w *Window, at string) {
	for name, d := range map[string]time.Duration{"time": w.Time, "every": w.Every, "session": w.Session, "lateness": w.Lateness, "ahead": w.Ahead, "idle": w.Idle} {
		c.checkDuration(at+"."+name, d)
	}
	if w.Count < 0 {
		c.wrong(at+".count", "%d is negative", w.Count)
	}
	timed := w.Time > 0 && w.Count == 0
	switch {
	case w.Time == 0 && w.Count == 0 && w.Session == 0:
		c.wrong(at, "has no end: give it time, count or session")
	case w.Session > 0 && (w.Time > 0 || w.Count > 0):
		c.wrong(at+".session", "beside time or count: a session ends when its group is silent")
	}
	switch {
	case w.Every > 0 && !timed:
		c.wrong(at+".every", "is for windows of time alone")
	case w.Every > w.Time:
		c.wrong(at+".every", "%v is longer than time: messages between two windows would be in none", w.Every)
	case w.Every > 0 && w.Time/w.Every > maxOverlap:
		c.wrong(at+".every", "%v makes %d windows of each message: at most %d", w.Every, w.Time/w.Every, maxOverlap)
	}
	if w.EventTime == "" {
		for _, each := range []struct {
			name string
			set  bool
		}{{"unit", w.Unit != ""}, {"lateness", w.Lateness > 0}, {"ahead", w.Ahead > 0}, {"idle", w.Idle > 0}} {
			if each.set {
				c.wrong(at+"."+each.name, "is for event_time: name the field that has the time")
			}
		}
		return
	}
	if w.Time == 0 && w.Session == 0 {
		c.wrong(at+".event_time", "is for windows of time and for sessions")
	}
	if every := cmp.Or(w.Every, w.Time, w.Session); every > 0 && w.Lateness/every > maxOverlap {
		c.wrong(at+".lateness", "%v keeps %d windows open: at most %d", w.Lateness, w.Lateness/every, maxOverlap)
	}
}

// defaultAhead is the Ahead of a Window that has none.
const defaultAhead = 24 * time.Hour

// maxOverlap bounds how many windows a message belongs to, and how many lateness keeps open.
const maxOverlap = 1000

// publish compiles the last step.
func (c *compiler) publish(s *Step, at string) {
	stage := &publishStage{counts: &counts{text: s.String()}, observe: c.cfg.Observe, typ: ferry.JSON, tags: map[string]string{}}
	if s.Type != "" {
		t, err := ferry.ParseType(s.Type)
		if err != nil || !slices.Contains([]ferry.Type{ferry.JSON, ferry.CBOR, ferry.MsgPack, ferry.BSON}, t) {
			c.wrong(c.at+".type", "%q is no format of records: want json, cbor, msgpack or bson", s.Type)
		}
		stage.typ = t
	}
	var fields []string
	plus, hash := 0, false
	for _, text := range strings.Split(s.Publish, "/") {
		l := level{text: text, value: -1}
		switch {
		case isField(text):
			l.value = len(fields)
			fields = append(fields, text[1:len(text)-1])
		case text == "+":
			plus++
		case text == "#":
			hash = true
		}
		stage.levels = append(stage.levels, l)
	}
	pattern := Outputs(c.cfg.Steps)
	if err := topic.CheckFilter(pattern); err != nil {
		c.wrong(at, "%s", strings.Replace(err.Error(), "filter", "tag", 1))
		return
	}
	for i, observed := range c.cfg.Observe {
		if topic.CheckFilter(observed) != nil {
			return // reported as an error of observe
		}
		has := strings.Count("/"+observed+"/", "/+/")
		if all := strings.HasSuffix(observed, "#"); !all && (plus > has || hash && plus >= has) {
			c.wrong(at, "%q takes more levels than the wildcards of observe[%d], %q, match", s.Publish, i, observed)
			return
		}
		if topic.Overlap(pattern, observed) {
			c.wrong(at, "%q is observed by the function itself, as observe[%d] is %q: its results would never end", s.Publish, i, observed)
			return
		}
	}
	if c.group != nil && !c.group.byTag && (plus > 0 || hash) && c.group.reader != nil &&
		!slices.ContainsFunc(c.group.reader.operands, func(o operand) bool { return o.tag }) {
		c.wrong(at, "%q takes levels of the tag, but a group has messages of several tags: add @tag to group_by, or take the value of a field, such as {PATH}", s.Publish)
		return
	}
	if len(fields) > 0 {
		stage.reader = c.reader(fields, func(int) string { return at })
	}
	c.counts = append(c.counts, stage.counts)
	c.connect(stage)
}

// add adds a stage.
func (c *compiler) add(s stage, l *link, step *Step) {
	l.counts = &counts{text: step.String()}
	c.counts = append(c.counts, l.counts)
	c.connect(s)
	c.tail = l
}

// connect makes s the next stage of the last one.
func (c *compiler) connect(s stage) {
	if c.tail == nil {
		c.first = s
	} else {
		c.tail.next = s
	}
}

// addStateful adds a stage with state. The first one needs groups: without group_by, each tag is one.
func (c *compiler) addStateful(s statefulStage, l *link, step *Step) {
	if c.group == nil {
		c.group = &groupStage{byTag: true}
		c.group.counts = &counts{}
		c.connect(c.group)
		c.tail = &c.group.link
	}
	l.index = c.slots
	c.slots++
	c.stateful, c.timed = append(c.stateful, s), append(c.timed, nil)
	c.add(s, l, step)
}

func (c *compiler) addTimed(s timedStage, l *link, step *Step) {
	c.addStateful(s, l, step)
	c.timed[l.index] = s
}

// valid reports whether u is one of the constants.
func (u Unit) valid() bool {
	return slices.Contains([]Unit{Nanoseconds, Microseconds, Milliseconds, Seconds}, u)
}

// nanoseconds returns the length of a unit.
func (u Unit) nanoseconds() int64 {
	switch u {
	case Microseconds:
		return int64(time.Microsecond)
	case Milliseconds:
		return int64(time.Millisecond)
	case Seconds:
		return int64(time.Second)
	}
	return 1
}
