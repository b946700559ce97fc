package log

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
)

var errBroken = errors.New("the disk is broken")

// disk is a Store in memory that forgets what was not synced, and fails when it is told to.
type disk struct {
	mu     sync.Mutex
	files  map[string]*content
	names  map[string]*content // what a power failure leaves
	broken bool                // everything fails: the process is dead

	failSyncs, failWrites int // so many calls fail next
	failNames             int
	syncs                 map[*content]int // after a failed one
	again                 bool             // a file was synced after its sync had failed
	beforeSync            func()           // called by each sync of a file; may be nil
}

type content struct{ data, synced []byte }

func newDisk() *disk {
	return &disk{files: map[string]*content{}, names: map[string]*content{}, syncs: map[*content]int{}}
}

// restart returns the disk that a new process sees. With power it is what was synced; of other pages, chance decides.
func (d *disk) restart(power bool, r *rand.Rand) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = true
	next := newDisk()
	from := d.files
	if power {
		from = d.names
	}
	for name, c := range from {
		data := slices.Clone(c.data)
		if power {
			data = slices.Clone(c.synced)
			const page = 512
			for at := 0; at < len(c.data) && r != nil; at += page {
				if r.IntN(2) == 0 {
					continue // this page was not written
				}
				end := min(at+page, len(c.data))
				for len(data) < end {
					data = append(data, 0)
				}
				copy(data[at:end], c.data[at:end])
			}
		}
		n := &content{data: data, synced: slices.Clone(data)}
		next.files[name], next.names[name] = n, n
	}
	return next
}

func (d *disk) lock() error {
	d.mu.Lock()
	if d.broken {
		return errBroken
	}
	return nil
}

func (d *disk) Create(name string) (File, error) {
	defer d.mu.Unlock()
	if err := d.lock(); err != nil {
		return nil, err
	}
	if d.files[name] != nil {
		return nil, fs.ErrExist
	}
	if d.failNames > 0 {
		d.failNames--
		return nil, errBroken
	}
	d.files[name] = new(content)
	return &handle{d, d.files[name]}, nil
}

func (d *disk) Open(name string) (File, error) {
	defer d.mu.Unlock()
	if err := d.lock(); err != nil {
		return nil, err
	}
	c := d.files[name]
	if c == nil {
		return nil, fs.ErrNotExist
	}
	return &handle{d, c}, nil
}

func (d *disk) Rename(from, to string) error {
	defer d.mu.Unlock()
	if err := d.lock(); err != nil {
		return err
	}
	d.files[to] = d.files[from]
	delete(d.files, from)
	return nil
}

func (d *disk) Remove(name string) error {
	defer d.mu.Unlock()
	if err := d.lock(); err != nil {
		return err
	}
	delete(d.files, name)
	return nil
}

func (d *disk) List() ([]string, error) {
	defer d.mu.Unlock()
	if err := d.lock(); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(d.files)), nil
}

func (d *disk) Sync() error {
	defer d.mu.Unlock()
	if err := d.lock(); err != nil {
		return err
	}
	d.names = maps.Clone(d.files)
	return nil
}

// handle is an open file of a disk.
type handle struct {
	disk *disk
	file *content
}

func (h *handle) ReadAt(p []byte, offset int64) (int, error) {
	defer h.disk.mu.Unlock()
	if err := h.disk.lock(); err != nil {
		return 0, err
	}
	if offset >= int64(len(h.file.data)) {
		return 0, io.EOF
	}
	n := copy(p, h.file.data[offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *handle) WriteAt(p []byte, offset int64) (int, error) {
	defer h.disk.mu.Unlock()
	if err := h.disk.lock(); err != nil {
		return 0, err
	}
	var err error
	if h.disk.failWrites > 0 {
		h.disk.failWrites--
		p, err = p[:len(p)/2], errBroken
	}
	for int64(len(h.file.data)) < offset+int64(len(p)) {
		h.file.data = append(h.file.data, 0)
	}
	copy(h.file.data[offset:], p)
	return len(p), err
}

func (h *handle) Truncate(size int64) error {
	defer h.disk.mu.Unlock()
	if err := h.disk.lock(); err != nil {
		return err
	}
	h.file.data = h.file.data[:min(int64(len(h.file.data)), size)]
	return nil
}

func (h *handle) Size() (int64, error) {
	defer h.disk.mu.Unlock()
	return int64(len(h.file.data)), h.disk.lock()
}

// Sync keeps the content, or fails: then it says from now on that all is well, as a kernel does that has dropped the pages.
func (h *handle) Sync() error {
	h.disk.mu.Lock()
	before := h.disk.beforeSync
	h.disk.mu.Unlock()
	if before != nil {
		before()
	}
	defer h.disk.mu.Unlock()
	if err := h.disk.lock(); err != nil {
		return err
	}
	if h.disk.syncs[h.file] > 0 {
		h.disk.again = true
		return nil
	}
	if h.disk.failSyncs > 0 {
		h.disk.failSyncs--
		h.disk.syncs[h.file]++
		return errBroken
	}
	h.file.synced = slices.Clone(h.file.data)
	return nil
}

func (h *handle) Close() error { return nil }
