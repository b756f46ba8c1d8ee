import java.util.Scanner;
import org.apache.maven.artifact.versioning.ComparableVersion;

/** Adds to each pair on standard input the sign of its comparison by Maven, which reads everything. */
class Maven {
  public static void main(String[] args) {
    Scanner in = new Scanner(System.in, "UTF-8");
    while (in.hasNextLine()) {
      String[] pair = in.nextLine().split("\t");
      int sign = new ComparableVersion(pair[0]).compareTo(new ComparableVersion(pair[1]));
      System.out.println(pair[0] + "\t" + pair[1] + "\t" + Integer.signum(sign));
    }
  }
}
