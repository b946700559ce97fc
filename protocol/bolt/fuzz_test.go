package bolt

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzNext: nothing panics, views lie within the frame, and Next and the reference agree at every length. A frame that is
// written again is the same. So is a frame that gets another id and then its own id.
func FuzzNext(f *testing.F) {
	_, all := vectors(f)
	for _, v := range all {
		f.Add(v.frame, uint32(0xdeadbeef))
		f.Add(append(slices.Clone(v.frame), v.frame[:len(v.frame)/2]...), uint32(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, id uint32) {
		for n := range min(len(data), MaxFixed) {
			compare(t, slices.Clip(data[:n]))
		}
		compare(t, data)
		frame, need, err := Next(data, Limits{MaxFrame: 1 << 20, MaxHead: 1 << 12})
		if err != nil || need != 0 {
			return
		}
		if frame.FrameLen() > 1<<20 || frame.HeadLen() > 1<<12 || frame.FrameLen() < frame.HeadLen() || frame.FixedLen() > frame.HeadLen() {
			t.Fatalf("%d of %d bytes before the content", frame.HeadLen(), frame.FrameLen())
		}
		if len(frame.data) > frame.FrameLen() || len(frame.data) > len(data) {
			t.Fatalf("%d bytes of a frame of %d", len(frame.data), frame.FrameLen())
		}
		before := slices.Clone(data)
		own := frame.ID()
		delta := frame.SetID(id)
		if frame.ID() != id || frame.SetID(own) != delta || !bytes.Equal(data, before) {
			t.Fatalf("%x: with id %d and its own again: %x", before, id, data)
		}
		if len(data) < frame.FrameLen() {
			return
		}
		m := message(frame)
		again, err := Append(nil, m)
		if err != nil {
			t.Fatalf("%x: %v", data, err)
		}
		again[data[0]+3] = data[data[0]+3]           // ver2: Append always writes 1
		end := frame.FrameLen() - int(frame.trailer) // the frame written by Append has a correct CRC
		if !bytes.Equal(again[:end], data[:end]) || len(again) != frame.FrameLen() {
			t.Fatalf("%x: written again: %x", data[:end], again)
		}
	})
}

// FuzzHeader: Lookup and All agree on any bytes. Their views lie within these bytes.
func FuzzHeader(f *testing.F) {
	f.Add([]byte(pairs(Service, "com.test.Echo:1.0", "k2", "")), Service)
	f.Add([]byte(pairs("a", "1", "a", "2")), "a")
	f.Add([]byte(null+null), "")
	f.Fuzz(func(t *testing.T, data []byte, key string) {
		want, times, damaged := []byte(nil), 0, false
		for pair, err := range Header(data).All() {
			if err != nil {
				damaged = true
				break
			}
			if string(pair.Key) == key {
				want = pair.Value
				times++
			}
		}
		value, ok, err := Header(data).Lookup(key)
		switch {
		case damaged || times > 1:
			if err == nil {
				t.Fatalf("%x: %q was found in a damaged map, or %d times", data, key, times)
			}
		case err == nil && (ok != (times == 1) || !bytes.Equal(value, want)):
			t.Fatalf("%x: got %q, %v, want %q", data, value, ok, want)
		}
		if len(value) > 0 && !bytes.Contains(data, value) {
			t.Fatalf("%x: %x is not in it", data, value)
		}
	})
}
