// Package faults kills, starves and damages servers on both engines.
// Each test holds that acknowledged writes are stored, once and not in part.
// make faults runs the tests, which need the build tag faults.
package faults
