// Package managed serves the pages about connections to code hosts, managed runs, runners and
// notification rules.
package managed
