package meter

// Size is what a module costs when it is compiled, before anything runs.
type Size struct {
	Functions int   // imports aside
	Code      int   // bytes of them
	Largest   int   // bytes of the two largest ones, which may be compiled at a time
	Data      int   // bytes that the memory of an instance begins with
	Entries   int64 // that the tables of an instance may have together
}

// SizeOf returns the size of a module with the limits.
func SizeOf(binary []byte, l Limits) (Size, error) {
	m, err := split(binary)
	if err != nil {
		return Size{}, err
	}
	s := Size{Code: len(m.sections[sectionCode]), Data: len(m.sections[sectionData])}
	if section := m.sections[sectionFunction]; section != nil {
		r := &reader{b: section}
		s.Functions, err = int(r.count()), in(sectionFunction, r.err)
	}
	if section := m.sections[sectionCode]; section != nil && err == nil {
		r := &reader{b: section}
		first, second := 0, 0
		for range r.count() {
			size := len(r.take(r.uint32()))
			first, second = max(first, size), max(second, min(first, size))
		}
		s.Largest = first + second
		err = in(sectionCode, r.err)
	}
	if err == nil {
		err = m.limit(sectionTable, l.TableEntries, func(uint32) string { return "a table that is too large" }, &s.Entries)
	}
	return s, err
}
