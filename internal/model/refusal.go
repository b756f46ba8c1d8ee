package model

// Refusal names one item of a report that could not be taken, and why.
type Refusal struct {
	Item   string // where in the file, as results[17]
	Reason string
}

// MaxRefused bounds how many refusals are kept and told one by one: a report of a
// few megabytes may hold a million, and people read the first.
const MaxRefused = 100

// Refusals are the items of a report that could not be taken. The zero value is
// of none.
type Refusals struct {
	Refused     []Refusal // in their order, the first MaxRefused
	MoreRefused int       `json:",omitempty"` // how many there are beyond these
}

// Refuse adds items.
func (r *Refusals) Refuse(items ...Refusal) {
	room := min(max(MaxRefused-len(r.Refused), 0), len(items))
	r.Refused = append(r.Refused, items[:room]...)
	r.MoreRefused += len(items) - room
}

// RefuseAll adds what another part of the report refused.
func (r *Refusals) RefuseAll(others Refusals) {
	r.Refuse(others.Refused...)
	r.MoreRefused += others.MoreRefused
}

// CountRefused is how many items were refused, told one by one or not.
func (r *Refusals) CountRefused() int { return len(r.Refused) + r.MoreRefused }
