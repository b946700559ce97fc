package harness

import (
	"slices"
	"strings"
)

// againName returns the name of the A/A row of a row.
func againName(name string) string { return name + ", again" }

// withAgain returns q with its A/A rows, as the last measured contenders: the first row of ferry a second time, and each row whose
// Again is set.
func (q Question) withAgain() Question {
	last := len(q.Contenders)
	for last > 0 && q.Contenders[last-1].Recorded != nil {
		last--
	}
	all := slices.Clone(q.Contenders[:last])
	first := slices.IndexFunc(q.Contenders, func(c Contender) bool { return c.Kind == Ferry && c.Recorded == nil })
	for i, c := range q.Contenders {
		if i == first || c.Again {
			c.Name, c.Kind = againName(c.Name), Again
			all = append(all, c)
		}
	}
	q.Contenders = append(all, q.Contenders[last:]...)
	return q
}

// slug returns a CPU's name as a part of a file name: "Intel(R) Xeon(R) @ 2.80GHz" gives "intel-xeon-2-80ghz".
func slug(cpu string) string {
	cpu = strings.NewReplacer("(R)", "", "(TM)", "", "(r)", "", "(tm)", "").Replace(cpu)
	return strings.Join(strings.FieldsFunc(strings.ToLower(cpu), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	}), "-")
}
