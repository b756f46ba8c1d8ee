// Package managed serves the pages about integrations: connections to code hosts, managed scans with
// their runs and runners, and notification rules.
package managed
