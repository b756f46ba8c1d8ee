package web

// option is a value to choose and how much it would leave.
type option struct {
	Value, Label string
	Count        int
	Chosen       bool
}

// bar is a part of a row's whole, by severity.
type bar struct {
	Severity string
	Count    int
	Address  string // of its rows; empty where the row's own leads there
}

// choice is one of a few ways to show a page.
type choice struct {
	Label, Address string
	Current        bool
}

type param struct{ Name, Value string }
