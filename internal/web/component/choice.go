package component

// Bar is a part of a row's whole, by severity.
type Bar struct {
	Severity string
	Count    int
	Address  string // of its rows; empty where the row's own leads there
}

// Choice is one of a few ways to show a page.
type Choice struct {
	Label, Address string
	Current        bool
}

// Param is a hidden field of a form.
type Param struct{ Name, Value string }
