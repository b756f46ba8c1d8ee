// Package export writes all findings of a selection as CSV, JSON Lines, SARIF or
// XLSX. They come in steps and go out as they come, so that memory is that of one
// step, however many there are.
//
// It decides what a row says and how a program that opens it is kept from obeying
// what scanners wrote. It knows neither where findings come from nor who asked.
package export
