// Package faults kills, starves and damages servers on both engines. Each test checks that
// acknowledged writes are stored completely and once. make faults runs the tests, which need the
// build tag faults.
package faults
