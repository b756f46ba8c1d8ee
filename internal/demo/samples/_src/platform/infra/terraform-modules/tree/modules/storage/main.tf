resource "aws_s3_bucket" "reports" {
  bucket = "acme-platform-reports"
  acl    = "public-read"
}

resource "aws_ebs_volume" "scratch" {
  availability_zone = "eu-central-1a"
  size              = 40
  encrypted         = false
}
