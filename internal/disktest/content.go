package disktest

// pageSize is the unit in which a content remembers what was synced.
const pageSize = 4 << 10

// content is the bytes of a file, and what is left of them after a power failure.
type content struct {
	data   []byte
	synced map[int][]byte // what pages had when they were synced, for pages that changed since; up to syncedSize
	size   int            // of the file when it was synced
}

// read copies bytes from offset on to p and returns their number.
func (c *content) read(p []byte, offset int) int {
	if offset >= len(c.data) {
		return 0
	}
	return copy(p, c.data[offset:])
}

// write changes bytes. They are lost with the power until they are synced.
func (c *content) write(p []byte, offset int) {
	if len(p) == 0 {
		return
	}
	c.keep(offset, offset+len(p))
	c.grow(offset + len(p))
	copy(c.data[offset:], p)
}

// writeSync changes bytes as a write to a file that is open with O_SYNC does: the bytes are synced, and no others.
func (c *content) writeSync(p []byte, offset int) {
	c.write(p, offset)
	c.size = max(c.size, offset+len(p))
	for i := offset / pageSize; i*pageSize < offset+len(p); i++ {
		page := make([]byte, pageSize)
		copy(page, c.synced[i])
		from, to := max(offset, i*pageSize), min(offset+len(p), (i+1)*pageSize)
		copy(page[from-i*pageSize:], c.data[from:to])
		c.synced[i] = page
	}
}

// resize truncates the file, or appends zeros.
func (c *content) resize(size int) {
	if size < len(c.data) {
		c.keep(size, len(c.data))
		clear(c.data[size:]) // what grows again is zero
		c.data = c.data[:size]
	}
	c.grow(size)
}

// sync makes the content survive a power failure.
func (c *content) sync() {
	c.synced = nil
	c.size = len(c.data)
}

// losePower restores what was synced, and returns how many bytes differ from what the file had.
func (c *content) losePower() (lost int) {
	old := append([]byte(nil), c.data...)
	c.data = c.data[:min(len(c.data), c.size)]
	c.grow(c.size)
	for i, page := range c.synced {
		from := i * pageSize
		if from >= c.size {
			continue
		}
		at := c.data[from:min(from+pageSize, c.size)]
		clear(at[copy(at, page):])
	}
	c.synced = nil
	for i := range old {
		if i >= len(c.data) || c.data[i] != old[i] {
			lost++
		}
	}
	return lost
}

// flip damages one bit, also of what was synced.
func (c *content) flip(offset int) {
	c.data[offset] ^= 1
	if page := c.synced[offset/pageSize]; offset%pageSize < len(page) {
		page[offset%pageSize] ^= 1
	}
}

// keep remembers the synced pages from one offset to another, before they change.
func (c *content) keep(from, to int) {
	if c.synced == nil {
		c.synced = map[int][]byte{}
	}
	for i := from / pageSize; i*pageSize < to; i++ {
		if _, ok := c.synced[i]; ok {
			continue
		}
		end := min((i+1)*pageSize, c.size, len(c.data))
		c.synced[i] = append([]byte{}, c.data[min(i*pageSize, end):end]...)
	}
}

// grow appends zeros up to size.
func (c *content) grow(size int) {
	if size > len(c.data) {
		c.data = append(c.data, make([]byte, size-len(c.data))...)
	}
}
