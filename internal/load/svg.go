package load

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"
)

// The picture's size and the frame of its plot, in pixels.
const (
	svgWidth, svgHeight                  = 800, 450
	svgLeft, svgRight, svgTop, svgBottom = 80, 780, 50, 400
)

// SVG returns the distribution of the latencies as a picture: latency by percentile, both on logarithmic scales, so that each step to the
// right is a tenth of the requests of the step before.
func (r *Result) SVG(title string) []byte {
	h := r.Latency
	nines := math.Max(1, math.Ceil(math.Log10(float64(max(h.Count(), 1))))) // the last step has one request
	low := math.Floor(math.Log10(float64(max(h.Min(), 1))))
	high := math.Max(low+1, math.Ceil(math.Log10(float64(max(h.Max(), 1)))))
	x := func(step float64) float64 { return svgLeft + step/nines*(svgRight-svgLeft) }
	y := func(d time.Duration) float64 {
		return svgBottom - (math.Log10(float64(max(d, 1)))-low)/(high-low)*(svgBottom-svgTop)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", svgWidth, svgHeight)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n"+`<text x="%d" y="20" font-size="14">%s</text>`+"\n", svgLeft, html.EscapeString(title))
	fmt.Fprintf(&b, `<text x="%d" y="38" fill="#555">%s</text>`+"\n", svgLeft, html.EscapeString(r.Config.describe()))
	for step := range int(nines) + 1 {
		label := "0 %"
		if step > 0 {
			label = fmt.Sprintf("%.*f %%", max(step-2, 0), 100-100*math.Pow10(-step))
		}
		gridLine(&b, x(float64(step)), svgTop, x(float64(step)), svgBottom)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x(float64(step)), svgBottom+18, label)
	}
	for power := int(low); power <= int(high); power++ {
		d := time.Duration(math.Pow10(power))
		gridLine(&b, svgLeft, y(d), svgRight, y(d))
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", svgLeft-8, y(d)+4, d)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">percentile of the requests</text>`+"\n", (svgLeft+svgRight)/2, svgBottom+40)
	const points = 400
	b.WriteString(`<polyline fill="none" stroke="#1f6fb2" stroke-width="2" points="`)
	for i := range points + 1 {
		step := nines * float64(i) / points
		fmt.Fprintf(&b, "%.1f,%.1f ", x(step), y(h.Quantile(1-math.Pow(10, -step))))
	}
	b.WriteString("\"/>\n")
	if r.Void != "" {
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#b00" font-size="14">VOID: %s</text>`+"\n", svgLeft+10, svgTop+20, html.EscapeString(r.Void))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func gridLine(b *strings.Builder, x1, y1, x2, y2 float64) {
	fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#ddd"/>`+"\n", x1, y1, x2, y2)
}
