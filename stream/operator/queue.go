package operator

// queue has values in the order in which they came.
type queue[V any] struct {
	all   []V
	first int
}

func (q *queue[V]) len() int { return len(q.all) - q.first }

func (q *queue[V]) list() []V { return q.all[q.first:] }

func (q *queue[V]) push(v V) { q.all = append(q.all, v) }

// pop removes the first value and returns it.
func (q *queue[V]) pop() V {
	v := q.all[q.first]
	if q.first++; 2*q.first >= len(q.all) {
		n := copy(q.all, q.all[q.first:])
		clear(q.all[n:]) // nothing of the values stays reachable
		q.all, q.first = q.all[:n], 0
	}
	return v
}
