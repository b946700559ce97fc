package window

import (
	"cmp"
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
}

// Never is a time that does not come.
const Never = math.MaxInt64

// maxOpen bounds the windows of Count and Time that are open. Values in descending order would each begin one.
const maxOpen = 2048

// Window is one window. Its times are Unix nanoseconds: End is the first one that is not in it.
type Window[S any] struct {
	Start, End int64 // of windows of Count alone, the times of the first and the last value
	Count      int
	State      S
}

// Windows are the open windows of one sequence of values. Methods must not overlap.
type Windows[S any] struct {
	Config
	Merge func(into, from *S) // adds the state of a later session to that of an earlier one, when a value joins them

	open  []*Window[S] // by End, then by Start
	added []*Window[S]
	mark  int64 // highest watermark
	began bool  // mark is set
	last  *Window[S]
}

// Add returns the windows to which a value of this time belongs, with their Count increased. There are none if the value is late:
// all of them have ended, or too many are open. The slice and the windows are valid until the next call of Add or Pop.
func (w *Windows[S]) Add(at int64) []*Window[S] {
	w.added = w.added[:0]
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

// Pop removes the next window that ends at or before the watermark, or is full, and returns it; nil if there is none. The window is
// valid until the next call of Add or Pop.
func (w *Windows[S]) Pop(watermark int64) *Window[S] {
	if !w.began || watermark > w.mark {
		w.mark, w.began = watermark, true
	}
	for i, each := range w.open {
		full := w.Count > 0 && each.Count >= w.Count
		if full || w.timed() && each.End <= w.mark {
			w.open = slices.Delete(w.open, i, i+1)
			w.last = each
			return each
		}
		if w.Count == 0 {
			break // the others end later
		}
	}
	return nil
}

// Flush removes the next window, whether it has ended or not, and returns it; nil if there is none.
func (w *Windows[S]) Flush() *Window[S] {
	if len(w.open) == 0 {
		return nil
	}
	each := w.open[0]
	w.open = slices.Delete(w.open, 0, 1)
	if w.timed() && (!w.began || each.End > w.mark) {
		w.mark, w.began = each.End, true // further values of the window are late
	}
	return each
}

// Due returns the lowest watermark at which a window ends; Never if there is none.
func (w *Windows[S]) Due() int64 {
	if len(w.open) == 0 || !w.timed() {
		return Never
	}
	return w.open[0].End
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

// ended reports whether a window with this end has been passed by the watermark.
func (w *Windows[S]) ended(end int64) bool { return w.began && end <= w.mark }

func (w *Windows[S]) addTimed(at int64) {
	every := int64(w.Every)
	if every == 0 {
		every = int64(w.Time)
	}
	for start := floor(at, every); start > at-int64(w.Time); start -= every {
		end := start + int64(w.Time)
		if w.ended(end) {
			return // earlier windows too
		}
		w.added = append(w.added, w.at(start, end))
	}
}

// at returns the window with this start and end, which it makes if there is none.
func (w *Windows[S]) at(start, end int64) *Window[S] {
	i := len(w.open)
	for i > 0 && w.open[i-1].End > end {
		i--
	}
	if i > 0 && w.open[i-1].End == end {
		return w.open[i-1]
	}
	return w.insert(i, start, end)
}

func (w *Windows[S]) insert(i int, start, end int64) *Window[S] {
	made := w.last
	if w.last = nil; made == nil {
		made = new(Window[S])
	}
	*made = Window[S]{Start: start, End: end}
	w.open = slices.Insert(w.open, i, made)
	return made
}

func (w *Windows[S]) addCounted(at int64) {
	if len(w.open) == 0 {
		w.insert(0, at, at)
	}
	each := w.open[0]
	each.Start, each.End = min(each.Start, at), max(each.End, at)
	w.added = append(w.added, each)
}

func (w *Windows[S]) addCountedOrTimed(at int64) {
	end := at + int64(w.Time)
	if w.ended(end) {
		return
	}
	i := 0
	for ; i < len(w.open) && w.open[i].End <= end; i++ {
		if each := w.open[i]; each.Start <= at && at < each.End && each.Count < w.Count {
			w.added = append(w.added, each)
			return
		}
	}
	if len(w.open) < maxOpen {
		w.added = append(w.added, w.insert(i, at, end))
	}
}

func (w *Windows[S]) addSession(at int64) {
	start, end := at, at+int64(w.Session)
	if w.ended(end) {
		return
	}
	var session *Window[S]
	kept := w.open[:0]
	for _, each := range w.open { // by End, and sessions do not overlap, so by Start too
		switch {
		case each.End <= start || each.Start >= end:
			kept = append(kept, each)
			continue
		case session == nil:
			session = each
			kept = append(kept, each)
		default:
			w.Merge(&session.State, &each.State)
			session.Count += each.Count
		}
		start, end = min(start, each.Start), max(end, each.End)
		session.Start, session.End = start, end
	}
	clear(w.open[len(kept):])
	w.open = kept
	if session == nil {
		i, _ := slices.BinarySearchFunc(w.open, end, func(each *Window[S], end int64) int { return cmp.Compare(each.End, end) })
		session = w.insert(i, start, end)
	}
	w.added = append(w.added, session)
}

// floor returns the greatest multiple of every that is not above at.
func floor(at, every int64) int64 {
	over := at % every
	if over < 0 {
		over += every
	}
	return at - over
}
