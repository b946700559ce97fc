package durable

// keyHeap orders keys by rank. The least is keys[0]. It knows the place of each key, so that a key can leave from the middle.
type keyHeap struct{ keys []*key }

func (h *keyHeap) push(k *key, rank uint64) {
	k.rank, k.index = rank, len(h.keys)
	h.keys = append(h.keys, k)
	h.up(k.index)
}

func (h *keyHeap) remove(k *key) {
	i, last := k.index, len(h.keys)-1
	h.swap(i, last)
	h.keys[last] = nil
	h.keys = h.keys[:last]
	k.index = -1
	if i < last {
		h.down(i)
		h.up(i)
	}
}

// update changes the rank of a key in the heap.
func (h *keyHeap) update(k *key, rank uint64) {
	k.rank = rank
	h.down(k.index)
	h.up(k.index)
}

func (h *keyHeap) swap(i, j int) {
	h.keys[i], h.keys[j] = h.keys[j], h.keys[i]
	h.keys[i].index, h.keys[j].index = i, j
}

func (h *keyHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if h.keys[parent].rank <= h.keys[i].rank {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *keyHeap) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.keys); child++ {
			if h.keys[child].rank < h.keys[least].rank {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}
