package model

// enumNames gives a small enumeration its names on the wire. The zero value of
// every enumeration here means "not said" and has the empty name, so a
// forgotten field never passes for a real one.
type enumNames[T ~uint8] []string

// name returns the wire name of v, or "" for a value out of range.
func (w enumNames[T]) name(v T) string {
	if int(v) >= len(w) {
		return ""
	}
	return w[v]
}

// parse finds the value with the wire name s. The empty name is not found.
func (w enumNames[T]) parse(s string) (T, bool) {
	for i, name := range w {
		if name == s && s != "" {
			return T(i), true
		}
	}
	return 0, false
}
