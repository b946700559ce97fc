package top

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// requestTimeout bounds how long a sample may take.
const requestTimeout = 5 * time.Second

// model is the state of the view. It changes only in Update.
type model struct {
	ctx      context.Context
	get      Get
	address  string
	interval time.Duration
	clock    func() time.Time

	window window
	err    error     // of the newest sample; nil if the node responded
	lost   time.Time // when the node stopped responding

	tabs    []tab  // those of parts that the node has
	current string // name of the tab shown
	places  map[string]*place

	filter  string
	editing bool // the keys go to the filter

	width, height int
}

// place is what the user has chosen in a tab.
type place struct {
	sortBy  int
	reverse bool
	top     int // first row shown
}

func newModel(ctx context.Context, cfg Config, first *Sample) *model {
	m := &model{ctx: ctx, get: cfg.Get, address: cfg.Address, interval: cfg.Interval, clock: time.Now, places: map[string]*place{}, width: 80, height: 24}
	m.add(first)
	return m
}

// sampled is a Msg: a sample, or why there is none.
type sampled struct {
	sample *Sample
	err    error
}

// due is a Msg: the next sample is due.
type due struct{}

// Init waits for the second sample: the first was taken before the program began.
func (m *model) Init() tea.Cmd { return m.wait() }

func (m *model) wait() tea.Cmd {
	return tea.Tick(m.interval, func(time.Time) tea.Msg { return due{} })
}

func (m *model) take() tea.Msg {
	ctx, cancel := context.WithTimeout(m.ctx, requestTimeout)
	defer cancel()
	s, err := Take(ctx, m.get)
	return sampled{s, err}
}

// Update handles keys, sizes and samples. One request runs at a time: the next one is due an interval after the response.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case due:
		return m, m.take
	case sampled:
		if msg.err != nil {
			m.fail(msg.err)
		} else {
			m.add(msg.sample)
		}
		return m, m.wait()
	case tea.KeyPressMsg:
		return m, m.key(msg)
	}
	return m, nil
}

func (m *model) fail(err error) {
	if m.err == nil {
		m.lost = m.clock()
	}
	m.err = err
}

// add shows a sample. The tabs are those of the parts that the node has now.
func (m *model) add(s *Sample) {
	m.err = nil
	m.window.add(s)
	m.tabs = slices.DeleteFunc(allTabs(), func(t tab) bool { return !t.present(s) })
	if m.tab() == nil && len(m.tabs) > 0 {
		m.current = m.tabs[0].name
	}
}

// tab returns the tab shown; nil if the node has no part to show.
func (m *model) tab() *tab {
	for i := range m.tabs {
		if m.tabs[i].name == m.current {
			return &m.tabs[i]
		}
	}
	return nil
}

func (m *model) place(t *tab) *place {
	if m.places[t.name] == nil {
		m.places[t.name] = &place{sortBy: t.sortBy}
	}
	return m.places[t.name]
}

func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	if k.String() == "ctrl+c" {
		return tea.Quit
	}
	if m.editing {
		m.edit(k)
		return nil
	}
	switch s := k.String(); s {
	case "q":
		return tea.Quit
	case "/":
		m.editing = true
	case "esc":
		m.filter = ""
	case "tab", "right", "l":
		m.turn(1)
	case "shift+tab", "left", "h":
		m.turn(-1)
	case "1", "2", "3", "4", "5":
		if i := int(s[0] - '1'); i < len(m.tabs) {
			m.current = m.tabs[i].name
		}
	default:
		if t := m.tab(); t != nil {
			m.move(t, m.place(t), s)
		}
	}
	return nil
}

// turn shows the next tab, or the previous one.
func (m *model) turn(by int) {
	for i := range m.tabs {
		if m.tabs[i].name == m.current {
			m.current = m.tabs[(i+by+len(m.tabs))%len(m.tabs)].name
			return
		}
	}
}

// move scrolls and sorts the table of a tab.
func (m *model) move(t *tab, p *place, key string) {
	page := max(1, m.height-chrome)
	switch key {
	case "up", "k":
		p.top--
	case "down", "j":
		p.top++
	case "pgup":
		p.top -= page
	case "pgdown", "space":
		p.top += page
	case "home", "g":
		p.top = 0
	case "end", "G":
		p.top = len(m.rows(t))
	case "s":
		shown := m.shownColumns(t)
		p.sortBy = shown[(slices.Index(shown, p.sortBy)+1)%len(shown)]
		p.reverse = false
	case "S", "r":
		p.reverse = !p.reverse
	}
	p.top = max(0, min(p.top, len(m.rows(t))-page))
}

// edit changes the filter. Enter keeps it, Esc removes it.
func (m *model) edit(k tea.KeyPressMsg) {
	switch k.String() {
	case "enter":
		m.editing = false
	case "esc":
		m.filter, m.editing = "", false
	case "backspace":
		if r := []rune(m.filter); len(r) > 0 {
			m.filter = string(r[:len(r)-1])
		}
	case "ctrl+u":
		m.filter = ""
	default:
		m.filter += k.Text
	}
}

// rows returns the rows of a tab that match the filter, sorted.
func (m *model) rows(t *tab) []row {
	p, filter := m.place(t), strings.ToLower(m.filter)
	rows := slices.DeleteFunc(t.rows(&m.window), func(r row) bool { return !r.match(filter) })
	sortRows(rows, p.sortBy, p.reverse)
	return flatten(rows)
}

// shownColumns returns the columns that the terminal is wide enough for.
func (m *model) shownColumns(t *tab) (shown []int) {
	for i, w := range layout(t.columns, m.rows(t), m.width-1) {
		if w > 0 {
			shown = append(shown, i)
		}
	}
	return shown
}
