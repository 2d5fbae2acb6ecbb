//! What every column of every frame means.

use study_table::{Cell, ColumnType, Field, Schema, TableBuilder};

/// The data dictionary as CSV: one line per column of each frame, in the order given.
#[must_use]
pub fn data_dictionary(frames: &[(&str, &Schema)]) -> Vec<u8> {
    let text = |name: &str, meaning: &str| Field::new(name, ColumnType::Str, "", meaning);
    let mut builder = TableBuilder::new(vec![
        text("frame", "name of the frame"),
        text("name", "name of the column"),
        text("type", "int, float, bool or str"),
        text("unit", "unit of the values, nothing where there is none"),
        text("meaning", "what the column holds"),
    ]);
    let known = |text: &'static str| Cell::Str(text);
    for (frame, schema) in frames {
        for field in &schema.fields {
            let column_type = match field.column_type {
                ColumnType::Int => known("int"),
                ColumnType::Float => known("float"),
                ColumnType::Bool => known("bool"),
                ColumnType::Str => known("str"),
            };
            let or_nothing = |text: &str| text.is_empty();
            builder.row(&[
                Cell::Str(frame),
                Cell::Str(&field.name),
                column_type,
                if or_nothing(&field.unit) { Cell::Null } else { Cell::Str(&field.unit) },
                if or_nothing(&field.meaning) { Cell::Null } else { Cell::Str(&field.meaning) },
            ]);
        }
    }
    builder.finish().to_csv().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_of_every_frame_is_listed_with_its_unit() {
        let segments = Schema::new(vec![
            Field::new("run", ColumnType::Int, "", "number of the run, from 0"),
            Field::new("ttlb_us", ColumnType::Int, "us", "time to the last byte, from the request"),
        ]);
        let links = Schema::new(vec![Field::new("loss_per_packet", ColumnType::Float, "1", "share lost, by packets")]);
        let text = String::from_utf8(data_dictionary(&[("segments", &segments), ("links", &links)])).unwrap();
        assert_eq!(
            text,
            "frame,name,type,unit,meaning\n\
             segments,run,int,,\"number of the run, from 0\"\n\
             segments,ttlb_us,int,us,\"time to the last byte, from the request\"\n\
             links,loss_per_packet,float,1,\"share lost, by packets\"\n"
        );
    }
}
