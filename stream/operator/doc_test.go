package operator_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

// tableRow is a row of the tables in docs/operators.md: Rx's names, ours in code, and the name of its Example.
var tableRow = regexp.MustCompile("(?m)^\\| ([^|]+) \\| `(\\w+)[^|]*` [^|]*\\| \\[(Example\\w*)\\]\\(\\.\\./stream/operator/example_test\\.go\\) \\|$")

// TestTable compares the table of docs/operators.md with the Example functions, which run as tests, and with what the package exports.
func TestTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operators.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, exported := functions(t)
	named := map[string]bool{}
	for _, row := range tableRow.FindAllStringSubmatch(string(page), -1) {
		name, example := row[2], row[3]
		if !exported[name] {
			t.Errorf("the row of %s: the package does not export %s", row[1], name)
		}
		if !examples[example] {
			t.Errorf("the row of %s: there is no %s", row[1], example)
		}
		named[example] = true
	}
	for example := range examples {
		if !named[example] && example != "Example" && example != "ExampleAggregate" {
			t.Errorf("no row of docs/operators.md has %s", example)
		}
	}
	if rows := strings.Count(string(page), "(../stream/operator/example_test.go) |"); rows != len(tableRow.FindAllString(string(page), -1)) {
		t.Errorf("%d rows have an example, but not all have the form of %s", rows, tableRow)
	}
}

// reactive are the names of the operators of reactivex.io.
const reactive = `create defer empty never throw from interval just range repeat start timer buffer flatMap groupBy map scan window debounce distinct
elementAt filter first ignoreElements last sample skip skipLast take takeLast and then when combineLatest join merge startWith switch zip catch retry
delay do materialize dematerialize observeOn serialize subscribe subscribeOn timeInterval timeout timestamp using all amb contains defaultIfEmpty
sequenceEqual skipUntil skipWhile takeUntil takeWhile average concat count max min reduce sum connect publish refCount replay`

// yomo are the names of rx.Stream in YoMo 1.10, and those that 1.0 had besides.
const yomo = `PipeBackToZipper RawBytes StdOut AuditTime DefaultIfEmptyWithTime All AverageFloat32 AverageFloat64 AverageInt AverageInt8 AverageInt16
AverageInt32 AverageInt64 BackOffRetry BufferWithCount BufferWithTime BufferWithTimeOrCount Connect Contains Count Debounce DefaultIfEmpty Distinct
DistinctUntilChanged DoOnCompleted DoOnError DoOnNext ElementAt Error Errors Filter Find First FirstOrDefault FlatMap ForEach GroupBy GroupByDynamic
IgnoreElements Join Last LastOrDefault Map Marshal Max Min OnErrorResumeNext OnErrorReturn OnErrorReturnItem Reduce Repeat Retry Run Sample Scan
SequenceEqual Send Serialize Skip SkipLast SkipWhile StartWith SumFloat32 SumFloat64 SumInt64 Take TakeLast TakeUntil TakeWhile TimeInterval Timestamp
ToMap ToMapWithValueSelector ToSlice Unmarshal WindowWithCount WindowWithTime WindowWithTimeOrCount ZipFromIterable SlidingWindowWithCount
SlidingWindowWithTime MergeReadWriterWithFunc Subscribe Encode OnObserve`

// TestNames finds names of ReactiveX and YoMo that no table of docs/operators.md has in its first column.
func TestNames(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operators.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, column := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(string(page), -1) {
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(column[1], -1) {
			known[word] = true
		}
	}
	for _, name := range strings.Fields(reactive + " " + yomo) {
		if !known[name] {
			t.Errorf("no row has %s", name)
		}
	}
}

// functions returns the names of the Examples, and of the functions and types that the package exports.
func functions(t *testing.T) (examples, exported map[string]bool) {
	t.Helper()
	examples, exported = map[string]bool{}, map[string]bool{}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if strings.HasPrefix(d.Name.Name, "Example") {
					examples[d.Name.Name] = true
				} else {
					exported[d.Name.Name] = d.Name.IsExported()
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						exported[s.Name.Name] = s.Name.IsExported()
					}
				}
			}
		}
	}
	return examples, exported
}
