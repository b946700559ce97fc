package meter

// Size is what a module costs when it is compiled, before anything runs.
type Size struct {
	Functions int // imports aside
	Code      int // bytes of them
	Data      int // bytes that the memory of an instance begins with
}

// SizeOf returns the size of a module.
func SizeOf(binary []byte) (Size, error) {
	m, err := split(binary)
	if err != nil {
		return Size{}, err
	}
	s := Size{Code: len(m.sections[sectionCode]), Data: len(m.sections[sectionData])}
	if section := m.sections[sectionFunction]; section != nil {
		r := &reader{b: section}
		s.Functions, err = int(r.count()), in(sectionFunction, r.err)
	}
	return s, err
}
