// Package decisions serves the pages about exceptions, exception requests and VEX documents.
package decisions
