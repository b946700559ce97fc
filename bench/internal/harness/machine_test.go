package harness

import "testing"

func TestCPUName(t *testing.T) {
	for _, row := range []struct{ cpuinfo, want string }{
		{"processor\t: 0\ncpu family\t: 6\nmodel\t\t: 106\nmodel name\t: Intel(R) Xeon(R) CPU @ 2.80GHz\n", "Intel(R) Xeon(R) CPU @ 2.80GHz"},
		{"cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\ncpu family\t: 1\n", "AMD EPYC (family 25, model 17)"},
		{"Features\t: fp asimd\n", ""},
	} {
		if got := cpuName(row.cpuinfo); got != row.want {
			t.Errorf("%q: got %q, want %q", row.cpuinfo, got, row.want)
		}
	}
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{"AMD EPYC", "AMD EPYC (family 25, model 17)", true},
		{"AMD EPYC (family 25, model 1)", "AMD EPYC (family 25, model 17)", false},
		{"AMD EPYC", "Intel(R) Xeon(R)", false},
	} {
		if got := sameCPU(row.a, row.b); got != row.want || sameCPU(row.b, row.a) != row.want {
			t.Errorf("%s and %s: the same: got %v, want %v", row.a, row.b, got, row.want)
		}
	}
}
