// Package window decides which windows a value belongs to, and when each ends. It has no clock and no lock: its callers give it times
// and a watermark.
//
//	w := window.Windows[float64]{Config: window.Config{Time: 10 * time.Second}}
//	for _, each := range w.Add(at) { // none, if at is too late
//		each.Acc += v
//	}
//	for each := w.Pop(watermark); each != nil; each = w.Pop(watermark) {
//		fmt.Println(each.Start, each.End, each.Acc)
//	}
package window
