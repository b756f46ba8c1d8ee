import java.io.InputStream;
import java.io.ObjectInputStream;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.Statement;
import javax.xml.parsers.DocumentBuilderFactory;

class Shop {
    void query(Connection connection, Statement statement, String name) throws Exception {
        // ruleid: redoubt-java-sql-from-text
        statement.executeQuery("SELECT * FROM users WHERE name = '" + name + "'");
        // ruleid: redoubt-java-sql-from-text
        statement.executeUpdate(String.format("DROP TABLE %s", name));
        String sql = "DELETE FROM users WHERE name = " + name;
        // ruleid: redoubt-java-sql-from-text
        statement.execute(sql);
        // ok: redoubt-java-sql-from-text
        PreparedStatement prepared = connection.prepareStatement("SELECT * FROM users WHERE name = ?");
        prepared.setString(1, name);
    }

    Object read(InputStream stream) throws Exception {
        // ruleid: redoubt-java-unsafe-deserialization
        ObjectInputStream in = new ObjectInputStream(stream);
        return in.readObject();
    }

    Object readSome(InputStream stream, java.io.ObjectInputFilter filter) throws Exception {
        // ok: redoubt-java-unsafe-deserialization
        ObjectInputStream in = new ObjectInputStream(stream);
        in.setObjectInputFilter(filter);
        return in.readObject();
    }

    void parse(InputStream stream) throws Exception {
        // ruleid: redoubt-java-xxe
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.newDocumentBuilder().parse(stream);
    }

    void parseSafely(InputStream stream) throws Exception {
        // ok: redoubt-java-xxe
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
        factory.newDocumentBuilder().parse(stream);
    }
}
