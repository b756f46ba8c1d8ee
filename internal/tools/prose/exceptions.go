package main

// exception permits a text that breaks a rule.
type exception struct {
	file   string
	rule   string
	text   string // part of the sentence or identifier; runs of white space are one space
	reason string
}

// exceptions lists the permitted texts. An exception that matches nothing is a violation.
var exceptions = []exception{
	{"internal/testutil/storetest/process_linux.go", "people", "otherwise nobody", "the user nobody of Unix"},
	{"internal/report/read/place_error.go", "headless", "what is the expected format", "the parameter what"},
	{"internal/web/findings/assignee.go", "people", "who may have left", "a possibility, not a permission"},
}
