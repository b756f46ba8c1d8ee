// Package reporttest has what the tests of report and of its readers share: what
// every report promises, its golden text, and the files to read. Only tests
// import it.
package reporttest
