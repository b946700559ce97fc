package harness

import (
	"slices"
	"strings"
)

// againName returns the name of the A/A row of a row.
func againName(name string) string { return name + ", again" }

// withAgain returns q with an A/A row: the first row of ferry a second time, as the last measured contender.
func (q Question) withAgain() Question {
	i := slices.IndexFunc(q.Contenders, func(c Contender) bool { return c.Kind == Ferry && c.Recorded == nil })
	if i < 0 {
		return q
	}
	again := q.Contenders[i]
	again.Name, again.Kind = againName(again.Name), Again
	last := len(q.Contenders)
	for last > 0 && q.Contenders[last-1].Recorded != nil {
		last--
	}
	q.Contenders = slices.Insert(slices.Clone(q.Contenders), last, again)
	return q
}

// slug returns a CPU's name as a part of a file name: "Intel(R) Xeon(R) @ 2.80GHz" gives "intel-xeon-2-80ghz".
func slug(cpu string) string {
	cpu = strings.NewReplacer("(R)", "", "(TM)", "", "(r)", "", "(tm)", "").Replace(cpu)
	return strings.Join(strings.FieldsFunc(strings.ToLower(cpu), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	}), "-")
}
