package harness

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Chart is a line plot, or a bar plot of a figure. The report shows charts in addition to the bar plot of the headline.
type Chart struct {
	Name   string `json:"name"` // part of the file name: results/QUESTION-NAME.svg
	Title  string `json:"title"`
	X      string `json:"x"` // label of the x axis, with the unit
	Y      string `json:"y"`
	LogY   bool   `json:"log_y,omitempty"`
	XTicks []Tick `json:"x_ticks"`
	Lines  []Line `json:"lines"`

	Bars   string `json:"bars,omitempty"` // the figure of a bar plot, which needs only Name, Title and Better
	Better Better `json:"better,omitempty"`
}

// Tick is a labelled position on an axis.
type Tick struct {
	At    float64 `json:"at"`
	Label string  `json:"label"`
}

// Line is the line of one row. Its points are sorted by x.
type Line struct {
	Name   string       `json:"name"`
	Points [][2]float64 `json:"points"` // pairs of x and y
}

// Sizes of a chart in pixels. The names of the rows are to the right of the lines.
const (
	chartLeft   = 70
	chartRight  = 700
	chartBottom = 380
	legendLine  = 18
)

// lineColors are readable on a light and on a dark background.
var lineColors = [...]string{"#0b7a75", "#b5651d", "#4a6fa5", "#b23a2e", "#7a5ba8", "#5f8a1f", "#8a8f98", "#c2458b", "#2f8fc4", "#a08a1a", "#6b5b4b", "#3b4cc0"}

// Growth draws the headline (y) against the size that each case has (x). Both axes are logarithmic. Each row with at least two
// cases is a line. Each tick of the x axis is labelled with the name of its case.
func (r *Result) Growth(name, title, x string, cases []Tick) Chart {
	c := Chart{Name: name, Title: title, X: x + ", logarithmic", Y: r.Unit, LogY: true}
	for _, t := range cases {
		c.XTicks = append(c.XTicks, Tick{math.Log10(t.At), t.Label})
	}
	for _, row := range r.Rows {
		line := Line{Name: row.Name}
		for _, t := range c.XTicks {
			if s, ok := row.Cases[t.Label][r.Unit]; ok {
				line.Points = append(line.Points, [2]float64{t.At, s.Median})
			}
		}
		if len(line.Points) > 1 {
			c.Lines = append(c.Lines, line)
		}
	}
	return c
}

// ChartSVG returns a chart of r as SVG text.
func (r *Result) ChartSVG(c *Chart) string {
	if c.Bars != "" {
		return r.bars(c.Bars, c.Title, c.Better)
	}
	return c.lines()
}

// lines draws a line plot.
func (c *Chart) lines() string {
	x, y := c.axes()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 %d %d" role="img" aria-label="%s">`, plotWidth, chartBottom+48, html.EscapeString(c.Title))
	b.WriteString(plotStyle)
	fmt.Fprintf(&b, `<text class="title" x="12" y="22">%s</text><text class="soft" x="12" y="44">%s</text>`, html.EscapeString(c.Title), html.EscapeString(c.Y))
	for _, t := range y.ticks {
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="soft" x="%d" y="%.1f" text-anchor="end">%s</text>`,
			chartLeft, chartRight, y.at(t), y.at(t), chartLeft-8, y.at(t)+4, powerLabel(t))
	}
	for _, t := range c.XTicks {
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="soft" x="%.1f" y="%d" text-anchor="middle">%s</text>`,
			x.at(t.At), x.at(t.At), topEdge, chartBottom, x.at(t.At), chartBottom+16, html.EscapeString(t.Label))
	}
	fmt.Fprintf(&b, `<text class="soft" x="%d" y="%d" text-anchor="middle">%s</text>`, (chartLeft+chartRight)/2, chartBottom+36, html.EscapeString(c.X))
	for i, l := range c.Lines {
		shade := lineColors[i%len(lineColors)]
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="2" points="`, shade)
		for _, p := range l.Points {
			fmt.Fprintf(&b, "%.1f,%.1f ", x.at(p[0]), y.at(p[1]))
		}
		top := topEdge + i*legendLine
		fmt.Fprintf(&b, `"><title>%s</title></polyline><rect x="%d" y="%d" width="14" height="4" fill="%s"/><text x="%d" y="%d">%s</text>`,
			html.EscapeString(l.Name), chartRight+14, top-4, shade, chartRight+34, top+2, html.EscapeString(l.Name))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// axes returns scales that include all points and ticks.
func (c *Chart) axes() (x, y scale) {
	x = newScale(chartLeft, chartRight, false)
	y = newScale(chartBottom, topEdge, c.LogY)
	for _, t := range c.XTicks {
		x.include(t.At)
	}
	for _, l := range c.Lines {
		for _, p := range l.Points {
			x.include(p[0])
			y.include(p[1])
		}
	}
	if !c.LogY {
		y.include(0)
	}
	if x.low >= x.high {
		x.addTicks()
	}
	y.addTicks()
	return x, y
}

// scale maps values between low and high to pixels.
type scale struct {
	low, high float64
	from, to  float64 // positions of low and high in pixels
	log       bool
	ticks     []float64
}

func newScale(from, to float64, log bool) scale {
	return scale{low: math.Inf(1), high: math.Inf(-1), from: from, to: to, log: log}
}

func (s *scale) include(v float64) {
	if v > 0 || !s.log {
		s.low, s.high = min(s.low, v), max(s.high, v)
	}
}

// addTicks sets the ticks, and extends the scale to the nearest tick at each end. The ticks are powers of ten on a logarithmic
// scale, or else four to ten round numbers.
func (s *scale) addTicks() {
	if math.IsInf(s.low, 0) {
		s.low, s.high = 1, 1
	}
	if s.log {
		a := newLogAxis(s.low, s.high)
		s.low, s.high, s.ticks = math.Pow(10, a.low), math.Pow(10, a.high), a.ticks
		return
	}
	if s.low == s.high {
		s.low, s.high = s.low-1, s.high+1
	}
	step := math.Pow(10, math.Floor(math.Log10(s.high-s.low)))
	for (s.high-s.low)/step < 4 {
		step /= 2
	}
	s.low, s.high = math.Floor(s.low/step)*step, math.Ceil(s.high/step)*step
	for i := range int(math.Round((s.high-s.low)/step)) + 1 {
		s.ticks = append(s.ticks, s.low+float64(i)*step)
	}
}

func (s *scale) at(v float64) float64 {
	low, high := s.low, s.high
	if s.log {
		v, low, high = math.Log10(max(v, low)), math.Log10(low), math.Log10(high)
	}
	return s.from + (v-low)/(high-low)*(s.to-s.from)
}
