// Package vex reads OpenVEX, and holds what VEX documents of all formats share.
package vex
