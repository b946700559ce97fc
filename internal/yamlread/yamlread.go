package yamlread

import "fmt"

// Do calls read and returns its error. A panic of read becomes an error, whose text says that the YAML could not be read and has the
// value of the panic. The caller adds the name of the file.
func Do(read func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the YAML could not be read, its parser failed: %v: correct or simplify it", v)
		}
	}()
	return read()
}
