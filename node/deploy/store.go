package deploy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/internal/atomicfile"
)

// MaxVersions is how many versions of a function are kept.
const MaxVersions = 5

// manifest is the file with the versions of a function. Version N is in N.wasm.
const manifest = "deployment.json"

// ErrUnknown means that no function of a name is deployed.
var ErrUnknown = errors.New("deploy: no such function is deployed")

// Store is a directory with deployed functions. It has a directory for each function. Its methods must not overlap.
type Store struct {
	dir       string
	functions map[string]*Function
	Damaged   []error // what Open has found wrong: the functions, or versions, are left out
}

// Open reads the directory, which need not exist. A version whose module is damaged is left out, and so the version before it is in
// use.
func Open(dir string) (*Store, error) {
	s := &Store{dir: dir, functions: map[string]*Function{}}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || !CheckName(e.Name()) {
			continue
		}
		f, err := s.load(e.Name())
		switch {
		case errors.Is(err, fs.ErrNotExist): // a first deployment that was not finished
		case err != nil:
			s.Damaged = append(s.Damaged, err)
		default:
			s.functions[f.Name] = f
		}
	}
	return s, nil
}

// load reads the function of a directory.
func (s *Store) load(name string) (*Function, error) {
	text, err := os.ReadFile(filepath.Join(s.dir, name, manifest))
	if err != nil {
		return nil, err
	}
	f := &Function{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("deploy: %s: %w", filepath.Join(s.dir, name, manifest), err)
	}
	if f.Name != name {
		return nil, fmt.Errorf("deploy: %s is of function %q", filepath.Join(s.dir, name, manifest), f.Name)
	}
	f.Versions = slices.DeleteFunc(f.Versions, func(v Version) bool {
		err := s.verify(name, v)
		if err != nil {
			s.Damaged = append(s.Damaged, err)
		}
		return err != nil
	})
	if len(f.Versions) == 0 {
		return nil, fmt.Errorf("deploy: %s: no version is intact", name)
	}
	if f.version(f.Current) == nil {
		f.Current = f.before(f.Current)
	}
	return f, nil
}

// verify compares a module with its hash.
func (s *Store) verify(name string, v Version) error {
	module, err := os.ReadFile(s.file(name, v.Number))
	if err != nil {
		return fmt.Errorf("deploy: %w", err)
	}
	if sum(module) != v.SHA256 {
		return fmt.Errorf("deploy: %s is damaged: its SHA-256 is another one", s.file(name, v.Number))
	}
	return nil
}

func sum(module []byte) string {
	h := sha256.Sum256(module)
	return hex.EncodeToString(h[:])
}

// version returns the version with a number; nil if there is none.
func (f *Function) version(number int) *Version {
	for i := range f.Versions {
		if f.Versions[i].Number == number {
			return &f.Versions[i]
		}
	}
	return nil
}

// before returns the number of the newest version before number, or else of the oldest one.
func (f *Function) before(number int) int {
	found := f.Versions[0].Number
	for _, v := range f.Versions {
		if v.Number < number {
			found = v.Number
		}
	}
	return found
}

// InUse returns the version in use.
func (f *Function) InUse() Version { return *f.version(f.Current) }

// file is the module of a version.
func (s *Store) file(name string, number int) string {
	return filepath.Join(s.dir, name, strconv.Itoa(number)+".wasm")
}

// File is the module of the version in use.
func (s *Store) File(f Function) string { return s.file(f.Name, f.Current) }

// List returns the functions, sorted by name.
func (s *Store) List() []Function {
	list := make([]Function, 0, len(s.functions))
	for _, f := range s.functions {
		list = append(list, f.clone())
	}
	slices.SortFunc(list, func(a, b Function) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (f *Function) clone() Function {
	c := *f
	c.Versions = slices.Clone(f.Versions)
	return c
}

// Get returns a function.
func (s *Store) Get(name string) (Function, error) {
	f := s.functions[name]
	if f == nil {
		return Function{}, fmt.Errorf("%w: %s", ErrUnknown, name)
	}
	return f.clone(), nil
}

// Bytes returns the size of all modules.
func (s *Store) Bytes() (n int64) {
	for _, f := range s.functions {
		for _, v := range f.Versions {
			n += v.Bytes
		}
	}
	return n
}

// Freed returns how many bytes of modules a further version of a function removes.
func (s *Store) Freed(name string) int64 {
	f := s.functions[name]
	if f == nil || len(f.Versions) < MaxVersions {
		return 0
	}
	return f.oldest().Bytes
}

// oldest returns the oldest version that is not in use.
func (f *Function) oldest() Version {
	if f.Versions[0].Number == f.Current {
		return f.Versions[1]
	}
	return f.Versions[0]
}

// Add writes the module of a further version, which is in use only after Commit. Discard takes it back.
func (s *Store) Add(spec Spec, module []byte, now time.Time) (Function, error) {
	f := Function{Name: spec.Name}
	number := 1
	if old := s.functions[spec.Name]; old != nil {
		f = old.clone()
		number = f.Versions[len(f.Versions)-1].Number + 1
	}
	f.Versions = append(f.Versions, Version{number, sum(module), int64(len(module)), now.UTC().Truncate(time.Second), spec})
	f.Current = number
	dir := filepath.Join(s.dir, spec.Name)
	if err := atomicfile.MkdirAll(dir, 0o700); err != nil {
		return f, fmt.Errorf("deploy: %w", err)
	}
	if err := atomicfile.Write(s.file(spec.Name, number), module, 0o600); err != nil {
		return f, fmt.Errorf("deploy: %w", err)
	}
	return f, nil
}

// Discard removes what Add has written.
func (s *Store) Discard(f Function) {
	_ = os.Remove(s.file(f.Name, f.Current))
	if s.functions[f.Name] == nil {
		_ = os.Remove(filepath.Join(s.dir, f.Name))
	}
}

// Commit makes f what is in use, also after a restart. When it returns it is on the disk. It removes the oldest of more than
// MaxVersions versions.
func (s *Store) Commit(f Function) error {
	var removed []Version
	for len(f.Versions) > MaxVersions {
		oldest := f.oldest()
		removed = append(removed, oldest)
		f.Versions = slices.DeleteFunc(f.Versions, func(v Version) bool { return v.Number == oldest.Number })
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = atomicfile.Write(filepath.Join(s.dir, f.Name, manifest), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("deploy: %w", err)
	}
	s.functions[f.Name] = &f
	for _, v := range removed {
		_ = os.Remove(s.file(f.Name, v.Number))
	}
	return nil
}

// RolledBack returns a function with the version before the one in use, which Commit puts in use.
func (s *Store) RolledBack(name string) (Function, error) {
	f, err := s.Get(name)
	if err != nil {
		return f, err
	}
	was := f.Current
	if f.Current = f.before(was); f.Current >= was {
		return f, fmt.Errorf("deploy: %s has no version before %d", name, was)
	}
	return f, nil
}

// Remove removes a function with all its versions.
func (s *Store) Remove(name string) error {
	if s.functions[name] == nil {
		return fmt.Errorf("%w: %s", ErrUnknown, name)
	}
	dir := filepath.Join(s.dir, name)
	if err := os.Remove(filepath.Join(dir, manifest)); err != nil { // without it there is no function
		return fmt.Errorf("deploy: %w", err)
	}
	delete(s.functions, name)
	if err := atomicfile.SyncDir(dir); err != nil {
		return fmt.Errorf("deploy: %w", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("deploy: %w", err)
	}
	return nil
}
