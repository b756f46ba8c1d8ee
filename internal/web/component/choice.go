package component

// Bar is one severity's share of a row.
type Bar struct {
	Severity string
	Count    int
	Address  string // lists the findings of the bar; empty if the row links to the same list
}

// Choice is one of several alternative views of a page.
type Choice struct {
	Label, Address string
	Current        bool
}

// Param is a hidden field of a form.
type Param struct{ Name, Value string }
