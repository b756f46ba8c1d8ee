// Package policy decides what scanners are served and when a build fails: the
// rules a policy takes in, the document made of them, the gate (decisions §10).
//
// Its border: pure decisions on the nouns. Storage, HTTP and the scanner itself
// are elsewhere; so is what a rule's metadata means to findings (report).
package policy
