package main

// exception permits a text that breaks a rule.
type exception struct {
	file   string // all files if empty
	rule   string
	text   string // part of the sentence or identifier; runs of white space are one space
	reason string
}

// exceptions lists the permitted texts. An exception that matches nothing is a violation.
//
// Code, values and tests are not checked and need no row. They still contain the Unix user without
// privileges, the empty body of net/http, and the value of requests for unassigned findings.
var exceptions = []exception{
	{"", "people", "@nobody", "the value of filters and commands for unassigned findings"},
	{"internal/report/read/position_error.go", "headless", "what is the expected format", "the parameter what"},
	{"internal/web/findings/assignee.go", "people", "who may have left", "a possibility, not a permission"},
}
