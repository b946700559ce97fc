package operator

// queue has values in the order in which they came.
type queue[V any] struct {
	all   []V
	first int
}

func (q *queue[V]) len() int { return len(q.all) - q.first }

func (q *queue[V]) list() []V { return q.all[q.first:] }

func (q *queue[V]) push(v V) { q.all = append(q.all, v) }

// pop removes the first value and returns it. Nothing of it stays reachable.
func (q *queue[V]) pop() (v V) {
	v, q.all[q.first] = q.all[q.first], v
	q.first++
	switch {
	case q.first == len(q.all):
		q.all, q.first = q.all[:0], 0
	case q.first >= 16 && 2*q.first >= len(q.all):
		n := copy(q.all, q.list())
		clear(q.all[n:])
		q.all, q.first = q.all[:n], 0
	}
	return v
}
