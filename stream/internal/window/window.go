package window

import (
	"math"
	"slices"
	"time"
)

// Config is the kind of windows: Time, Count, both, or Session.
type Config struct {
	Time    time.Duration // length; windows begin at multiples of Every, or else of Time, since 1970-01-01 UTC
	Every   time.Duration // at most Time; 0 means Time
	Count   int           // a window with this many values is full; with Time, a window begins with its first value
	Session time.Duration // a window ends when it has had no value for this long
	Late    time.Duration // a window of Time or Session that has ended takes late values for this long
	MaxOpen int           // most windows that are open; 0 means 2048
}

// Never is a time that does not come.
const Never = math.MaxInt64

// defaultMaxOpen is the default of Config.MaxOpen. Values in descending order would each begin a window of Count and Time.
const defaultMaxOpen = 2048

// Window is one window. Its times are Unix nanoseconds: End is the first one that is not in it.
type Window[S any] struct {
	Start, End int64 // of windows of Count alone, the times of the first and the last value
	Count      int
	Acc        S    // what the caller has gathered
	Emitted    bool // Pop has returned the window, which stays open for late values
}

// Windows are the open windows of one sequence of values. Methods must not overlap.
type Windows[S any] struct {
	Config
	New     func() S                     // Acc of a window without values; nil means the zero value
	Merge   func(into, from *S)          // adds the Acc of a later session to that of an earlier one, when a value joins them
	Refused func(start int64, late bool) // a value is not in a window: it is late, or MaxOpen windows are open; nil does nothing

	open   []*Window[S] // by Start, and so by End
	added  []*Window[S]
	popped *Window[S]   // in use by the caller until the next call
	spare  []*Window[S] // memory for further windows
	mark   int64        // highest watermark
	began  bool         // mark is set
}

// Add returns the windows to which a value of this time belongs, with their Count increased. There are none if the value is late:
// all of them have ended, or too many are open. The slice is valid until the next call of Add or Pop, as are the windows.
func (w *Windows[S]) Add(at int64) []*Window[S] {
	w.added = w.added[:0]
	if w.popped != nil {
		w.recycle()
	}
	switch {
	case w.Session > 0:
		w.addSession(at)
	case w.Time == 0:
		w.addCounted(at)
	case w.Count > 0:
		w.addCountedOrTimed(at)
	default:
		w.addTimed(at)
	}
	for _, each := range w.added {
		each.Count++
	}
	return w.added
}

// Pass notes a watermark: windows that have ended before it, and before Late, take no values.
func (w *Windows[S]) Pass(watermark int64) {
	if !w.began || watermark > w.mark {
		w.mark, w.began = watermark, true
	}
}

// Pop passes a watermark, and returns the next window that ends at or before it, or is full; nil if there is none. The window is
// removed, unless it takes late values. It is valid until the next call of Add or Pop.
func (w *Windows[S]) Pop(watermark int64) *Window[S] {
	w.Pass(watermark)
	if w.popped != nil {
		w.recycle()
	}
	for i := 0; i < len(w.open); {
		each := w.open[i]
		switch full := w.Count > 0 && each.Count >= w.Count; {
		case each.Emitted && w.ended(each.End):
			w.remove(i)
			w.recycle()
			continue
		case each.Emitted:
		case full || w.timed() && each.End <= w.mark:
			if !full && !w.ended(each.End) {
				each.Emitted = true
			} else {
				w.remove(i)
			}
			return each
		case w.Count == 0:
			return nil // the others end later
		}
		i++
	}
	return nil
}

// Flush removes the next window, whether it has ended or not, and returns it; nil if there is none. It is valid until the next call.
func (w *Windows[S]) Flush() *Window[S] {
	if w.popped != nil {
		w.recycle()
	}
	if len(w.open) == 0 {
		return nil
	}
	each := w.open[0]
	w.remove(0)
	if w.timed() {
		w.Pass(each.End) // further values of the window are late
	}
	return each
}

// Due returns the lowest watermark at which Pop has something to do; Never if there is none.
func (w *Windows[S]) Due() int64 {
	due := int64(Never)
	if !w.timed() {
		return due
	}
	for _, each := range w.open {
		if !each.Emitted {
			return min(due, each.End) // the others end later
		}
		due = min(due, later(each.End, w.Late))
	}
	return due
}

// Len returns the number of open windows.
func (w *Windows[S]) Len() int { return len(w.open) }

// Open returns the open windows, and the highest watermark so far. ok is false before the first one. The slice is valid until the
// next call of Add or Pop.
func (w *Windows[S]) Open() (open []*Window[S], watermark int64, ok bool) {
	return w.open, w.mark, w.began
}

// Restore replaces the windows by what Open has returned.
func (w *Windows[S]) Restore(open []*Window[S], watermark int64, ok bool) {
	w.open, w.mark, w.began = open, watermark, ok
}

func (w *Windows[S]) timed() bool { return w.Time > 0 || w.Session > 0 }

// ended reports whether a window with this end takes no values any more.
func (w *Windows[S]) ended(end int64) bool {
	return w.began && w.timed() && later(end, w.Late) <= w.mark
}

func (w *Windows[S]) addTimed(at int64) {
	every := int64(w.Every)
	if every == 0 {
		every = int64(w.Time)
	}
	i := len(w.open)
	if i > 0 && every == int64(w.Time) {
		if last := w.open[i-1]; last.Start <= at && at < last.End { // without a division
			w.added = append(w.added, last)
			return
		}
	}
	for start := floor(at, every); uint64(at)-uint64(start) < uint64(w.Time); start -= every { // unsigned, as it may exceed int64
		for i > 0 && w.open[i-1].Start > start {
			i--
		}
		if i > 0 && w.open[i-1].Start == start {
			w.added = append(w.added, w.open[i-1])
		} else {
			w.begin(i, start, later(start, w.Time))
		}
		if start < math.MinInt64+every {
			return
		}
	}
}

// begin makes a window with a value, unless it would have ended already or there are too many.
func (w *Windows[S]) begin(i int, start, end int64) {
	late, most := w.ended(end), w.MaxOpen
	if most == 0 {
		most = defaultMaxOpen
	}
	if late || len(w.open) >= most {
		if w.Refused != nil {
			w.Refused(start, late)
		}
		return
	}
	made := w.reused()
	made.Start, made.End = start, end
	if w.New != nil {
		made.Acc = w.New()
	}
	w.open = slices.Insert(w.open, i, made)
	w.added = append(w.added, made)
}

// reused returns an empty window, of those that were removed if there is one.
func (w *Windows[S]) reused() *Window[S] {
	last := len(w.spare) - 1
	if last < 0 {
		return new(Window[S])
	}
	made := w.spare[last]
	w.spare = w.spare[:last]
	return made
}

func (w *Windows[S]) remove(i int) {
	w.popped = w.open[i]
	w.open = slices.Delete(w.open, i, i+1)
}

// recycle keeps the memory of the window that was removed last for the next ones, without what the caller has gathered.
func (w *Windows[S]) recycle() {
	const most = 4
	if *w.popped = (Window[S]{}); len(w.spare) < most {
		w.spare = append(w.spare, w.popped)
	}
	w.popped = nil
}

func (w *Windows[S]) addCounted(at int64) {
	if len(w.open) == 0 {
		w.begin(0, at, at)
		return
	}
	each := w.open[0]
	each.Start, each.End = min(each.Start, at), max(each.End, at)
	w.added = append(w.added, each)
}

func (w *Windows[S]) addCountedOrTimed(at int64) {
	end := later(at, w.Time)
	i := 0
	for ; i < len(w.open) && w.open[i].End <= end; i++ {
		if each := w.open[i]; each.Start <= at && at < each.End && each.Count < w.Count {
			w.added = append(w.added, each)
			return
		}
	}
	w.begin(i, at, end)
}

// addSession adds a value to the session that it belongs to, and joins sessions that it connects.
func (w *Windows[S]) addSession(at int64) {
	end := later(at, w.Session)
	i := slices.IndexFunc(w.open, func(each *Window[S]) bool { return at < each.End })
	if i < 0 {
		i = len(w.open)
	}
	if i == len(w.open) || w.open[i].Start >= end {
		w.begin(i, at, end)
		return
	}
	s := w.open[i]
	s.Start, s.End = min(s.Start, at), max(s.End, end)
	for i+1 < len(w.open) && w.open[i+1].Start < s.End {
		next := w.open[i+1]
		w.Merge(&s.Acc, &next.Acc)
		s.Count += next.Count
		s.End = max(s.End, next.End)
		s.Emitted = s.Emitted || next.Emitted
		w.open = slices.Delete(w.open, i+1, i+2)
	}
	w.added = append(w.added, s)
}

// later returns at + d, or the last time that there is.
func later(at int64, d time.Duration) int64 {
	if at > math.MaxInt64-int64(d) {
		return math.MaxInt64
	}
	return at + int64(d)
}

// floor returns the greatest multiple of every that is not above at, or the first time that there is.
func floor(at, every int64) int64 {
	over := at % every
	if over < 0 {
		over += every
	}
	if at < math.MinInt64+over {
		return math.MinInt64
	}
	return at - over
}
