package lockfile

import "reflect"

// Kind is an entry of formats for tests.
type Kind struct {
	Name, Ecosystem string
	Reader          uintptr // equal for entries with the same function
}

// Kinds returns formats for tests.
func Kinds() (kinds []Kind) {
	for i := range formats {
		kinds = append(kinds, kindOf(&formats[i]))
	}
	return kinds
}

// KindOf returns the entry of a file name for tests, or nil.
func KindOf(name string) *Kind {
	f := formatOf(name)
	if f == nil {
		return nil
	}
	kind := kindOf(f)
	return &kind
}

func kindOf(f *format) Kind {
	return Kind{f.name, f.ecosystem, reflect.ValueOf(f.read).Pointer()}
}

// GoStdlib is the name of Go's standard library for tests.
const GoStdlib = goStdlib

// MaxPipSteps is the limit of PipSteps for tests.
const MaxPipSteps = maxPipSteps

// PipSteps returns the number of lines that Resolve processed.
func (u *Upload) PipSteps() int { return u.pip.steps }
