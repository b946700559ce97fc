package envelope

// IsBatch reports whether data is a list: a batch of JSON-RPC 2.0 (section 6), or its response.
func IsBatch(data []byte) bool {
	s := scanner{data: data}
	return s.peek() == '['
}

// SplitBatch returns the items of a batch, as parts of data. It does not check that the items are JSON. A batch that is empty or has
// more items than limit is an error.
func SplitBatch(data []byte, limit int) ([][]byte, error) {
	s := scanner{kind: request(JSONRPC2{}.Name()), data: data}
	if err := s.expect('['); err != nil {
		return nil, err
	}
	var items [][]byte
	for {
		more, err := s.element(len(items) == 0, ']')
		switch {
		case err != nil:
			return nil, err
		case !more && len(items) == 0:
			return nil, s.errorf(s.pos, "the batch is empty")
		case !more:
			return items, s.end()
		case len(items) == limit:
			return nil, s.errorf(s.pos, "the batch has more than %d calls", limit)
		}
		item, err := s.value()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}
