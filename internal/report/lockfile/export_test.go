package lockfile

import "reflect"

// Kind is a row of the table of formats, for tests.
type Kind struct {
	Name, Ecosystem string
	Reader          uintptr // equal for rows that one function reads
}

// Kinds is the table of formats, for tests.
func Kinds() (kinds []Kind) {
	for i := range formats {
		kinds = append(kinds, kindOf(&formats[i]))
	}
	return kinds
}

// KindOf finds the row of a file's name, or nil, for tests.
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

// GoStdlib is the name of Go's own library, for tests.
const GoStdlib = goStdlib

// MaxPipSteps and PipSteps are how far requirements files are followed, for tests.
const MaxPipSteps = maxPipSteps

// PipSteps is how many lines Resolve looked at.
func (u *Upload) PipSteps() int { return u.pip.steps }
