package account

import (
	"fmt"
	"image/color"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// quiet is the width of the quiet zone in modules (ISO/IEC 18004).
const quiet = 4

// qrCode is a QR code as the path of an SVG image. Inline SVG is allowed by the content security
// policy, and data: images are not.
type qrCode struct {
	Size int    // modules per side, including the quiet zone
	Path string // of the dark modules
}

// newQRCode encodes a text.
func newQRCode(text string) (qrCode, error) {
	drawn, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return qrCode{}, fmt.Errorf("draw a QR code: %w", err)
	}
	side := drawn.Bounds().Dx()
	var b strings.Builder
	for y := range side {
		for x := range side {
			if drawn.At(x, y) == color.Black {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	return qrCode{Size: side + 2*quiet, Path: b.String()}, nil
}
