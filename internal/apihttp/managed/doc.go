// Package managed implements the operations on connections to code hosts, and on the runs and
// runners of managed scans.
package managed
